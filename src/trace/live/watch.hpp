#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/live/driver.hpp"

/// What CUPTI told of modules and descriptors since the process began.
namespace ouroboros::live {

/// A cubin that the driver loaded.
struct LoadedImage {
  std::string bytes;
  std::string source;  ///< The file that it came from; empty when it came from memory.
};

/// Arguments of one cuTensorMapEncodeTiled and the 128 bytes that came out.
struct EncodedMap {
  std::string bytes;
  Address address = 0;
  std::uint32_t data_type = 0;
  std::vector<std::uint64_t> sizes, strides_bytes;
  std::vector<std::uint32_t> box, element_strides;
  std::uint32_t interleave = 0, swizzle = 0, l2_promotion = 0, oob_fill = 0;
};

/// A function's machine code, or why there is none.
struct FoundImage {
  std::optional<std::uint32_t> image;
  bool paired = false;                ///< By the module's handle, not by the function's name.
  std::optional<std::string> source;  ///< As of LoadedImage; unknown where nothing was paired.
  std::string refusal;
};

/// Subscribes to CUPTI. Must come before the process's first module. A second call does nothing.
/// `cupti` is the path of its library, or null to search by name.
/// Throws std::runtime_error with one sentence.
void watch(const char* cupti);

/// The image that holds `name`, by the handles of its module and library (either may be null).
[[nodiscard]] FoundImage find_image(Handle module, Handle library, std::string_view name);

[[nodiscard]] const LoadedImage* image(std::uint32_t index);

/// How much was seen, for a log.
struct Seen {
  std::size_t images = 0;
  std::size_t descriptors = 0;
};
[[nodiscard]] Seen seen();

/// The descriptor with these 128 bytes, if one was encoded.
[[nodiscard]] std::optional<EncodedMap> find_map(std::string_view bytes);

}  // namespace ouroboros::live
