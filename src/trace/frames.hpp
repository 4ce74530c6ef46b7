#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

/// Frames: how the tracer's processes talk. python/ouroboros/trace/zygote/frames.py is the same in
/// Python; docs/tracer.md describes them.
namespace ouroboros::trace {

inline constexpr char frame_magic[4] = {'O', 'U', 'R', 'F'};
inline constexpr std::size_t frame_header_bytes = 16;  ///< Magic, u32 document, u64 blobs.
inline constexpr std::uint64_t max_document_bytes = std::uint64_t{16} << 20;
inline constexpr std::uint64_t max_blob_bytes = std::uint64_t{1} << 30;

using Blob = std::vector<std::byte>;

struct Frame {
  nlohmann::json document;
  std::vector<Blob> blobs;
};

/// Throws `Error{invalid_argument}` for a frame that is too large.
std::vector<std::byte> encode(nlohmann::json document, const std::vector<Blob>& blobs);

/// Cuts a stream of bytes into frames.
class Decoder {
 public:
  void feed(std::span<const std::byte> bytes);

  /// The next whole frame. Throws `Error{io}` for bytes that are none.
  std::optional<Frame> next();

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace ouroboros::trace
