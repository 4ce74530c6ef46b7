#include "trace/frames.hpp"

#include <fmt/format.h>

#include <cstring>

#include "ouroboros/error.hpp"

namespace ouroboros::trace {
namespace {

using nlohmann::json;

template <class Integer>
Integer load(const std::byte* bytes) {
  Integer value = 0;
  for (std::size_t i = sizeof(Integer); i-- > 0;) {
    value = static_cast<Integer>(value << 8 | std::to_integer<Integer>(bytes[i]));
  }
  return value;
}

template <class Integer>
void store(std::vector<std::byte>& bytes, Integer value) {
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
}

void append(std::vector<std::byte>& bytes, const void* data, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), first, first + size);
}

std::vector<Blob> cut(const json& sizes, std::span<const std::byte> bytes) {
  std::vector<Blob> blobs;
  for (const auto& size : sizes) {
    if (!size.is_number_unsigned() || size.get<std::uint64_t>() > bytes.size()) {
      throw Error(ErrorCode::io, "a frame's blobs are not as long as it says");
    }
    const auto blob = bytes.first(size.get<std::size_t>());
    blobs.emplace_back(blob.begin(), blob.end());
    bytes = bytes.subspan(blob.size());
  }
  if (!bytes.empty()) {
    throw Error(ErrorCode::io, "a frame has bytes that belong to no blob");
  }
  return blobs;
}

}  // namespace

std::vector<std::byte> encode(json document, const std::vector<Blob>& blobs) {
  std::uint64_t total = 0;
  auto sizes = json::array();
  for (const auto& blob : blobs) {
    sizes.push_back(blob.size());
    total += blob.size();
  }
  document["blobs"] = std::move(sizes);
  // A source may be anything; what is not UTF-8 in it reaches the tracer as U+FFFD.
  const std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > max_document_bytes || total > max_blob_bytes) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("a request of {} bytes is too large for a tracer", text.size() + total));
  }
  std::vector<std::byte> bytes;
  bytes.reserve(frame_header_bytes + text.size() + total);
  append(bytes, frame_magic, sizeof frame_magic);
  store(bytes, static_cast<std::uint32_t>(text.size()));
  store(bytes, total);
  append(bytes, text.data(), text.size());
  for (const auto& blob : blobs) {
    append(bytes, blob.data(), blob.size());
  }
  return bytes;
}

void Decoder::feed(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

std::optional<Frame> Decoder::next() {
  if (bytes_.size() < frame_header_bytes) {
    return std::nullopt;
  }
  const std::uint64_t document_bytes = load<std::uint32_t>(bytes_.data() + 4);
  const auto blob_bytes = load<std::uint64_t>(bytes_.data() + 8);
  if (std::memcmp(bytes_.data(), frame_magic, sizeof frame_magic) != 0 ||
      document_bytes > max_document_bytes || blob_bytes > max_blob_bytes) {
    throw Error(ErrorCode::io, "the zygote sent bytes that are no frame");
  }
  const std::size_t end = frame_header_bytes + document_bytes + blob_bytes;
  if (bytes_.size() < end) {
    return std::nullopt;
  }
  const auto body = std::span(bytes_).subspan(frame_header_bytes, end - frame_header_bytes);
  const auto text = body.first(document_bytes);
  Frame frame;
  frame.document = json::parse(reinterpret_cast<const char*>(text.data()),
                               reinterpret_cast<const char*>(text.data()) + text.size(), nullptr,
                               /*allow_exceptions=*/false);
  if (!frame.document.is_object() || !frame.document.contains("blobs")) {
    throw Error(ErrorCode::io, "the zygote sent a frame whose document is none");
  }
  frame.blobs = cut(frame.document["blobs"], body.subspan(document_bytes));
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(end));
  return frame;
}

}  // namespace ouroboros::trace
