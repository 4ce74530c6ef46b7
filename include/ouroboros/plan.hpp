#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ouroboros/api.hpp"
#include "ouroboros/dtype.hpp"

namespace ouroboros {

/// What a buffer is for. Inputs are mapped read-only where a candidate can see them.
enum class BufferRole : std::uint8_t { input, output };

/// One contiguous, row-major tensor that a candidate reads or writes.
struct OUROBOROS_API Buffer {
  std::string name;
  BufferRole role = BufferRole::input;
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;  ///< Sizes, outermost first; empty for a scalar.

  [[nodiscard]] std::int64_t elements() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;
};

/// One way to call a candidate: an entry point, the buffers it gets and the sizes that follow them.
///
/// On the host the arguments are the buffers' addresses in order, inputs before outputs, and then
/// the sizes as `int64_t`: see docs/abi.md.
struct Call {
  std::string entry;
  std::vector<Buffer> buffers;
  std::vector<std::int64_t> sizes;
};

/// The most arguments (buffers and sizes together) that one call may have: a network of sixty
/// layers has as many weights.
inline constexpr std::size_t max_call_arguments = 128;

/// A compiled module: for the host a shared object, as bytes.
struct ModuleImage {
  std::vector<std::byte> bytes;
  std::string sha256;  ///< Of `bytes`, as 64 lower-case hexadecimal digits.
};

/// Everything the host executor needs to run a candidate: one module and a table of calls. Replays
/// name a call by its index. What a GPU runs is a `LaunchPlan`.
struct HostPlan {
  ModuleImage module;
  std::vector<Call> calls;
};

/// Checks what an executor relies on: argument counts, no negative sizes, sizes that do not
/// overflow. Throws `Error{invalid_argument}` that names the call and the buffer.
OUROBOROS_API void audit(const HostPlan& plan);

/// SHA-256 (FIPS 180-4) of `bytes`, as 64 lower-case hexadecimal digits.
[[nodiscard]] OUROBOROS_API std::string sha256_hex(const void* bytes, std::size_t size);

}  // namespace ouroboros
