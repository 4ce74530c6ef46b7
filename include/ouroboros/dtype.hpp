#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ouroboros/api.hpp"

namespace ouroboros {

/// Element types that buffers may hold.
enum class DType : std::uint8_t {
  float16,
  bfloat16,
  float32,
  float64,
  int32,
  int64,
  int8,
  uint8,
  boolean,        ///< "bool": one byte, 0 or 1.
  float8_e4m3fn,  ///< No infinities; the largest number is 448.
  float8_e5m2,
};

/// All of them.
[[nodiscard]] OUROBOROS_API std::span<const DType> all_dtypes() noexcept;

/// The name as it stands in JSON, in Python and in entry points, e.g. "float32".
[[nodiscard]] OUROBOROS_API std::string_view to_string(DType dtype) noexcept;

/// The inverse of `to_string`; empty for a name that is no element type.
[[nodiscard]] OUROBOROS_API std::optional<DType> parse_dtype(std::string_view name) noexcept;

/// Bytes of one element.
[[nodiscard]] OUROBOROS_API std::size_t size_of(DType dtype) noexcept;

/// Whether the type is a floating-point one.
[[nodiscard]] OUROBOROS_API bool is_floating(DType dtype) noexcept;

}  // namespace ouroboros
