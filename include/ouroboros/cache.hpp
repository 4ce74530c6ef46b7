#pragma once

#include <cstdint>
#include <string_view>

#include "ouroboros/api.hpp"

namespace ouroboros {

/// What the L2 cache of a GPU holds when a timed call begins.
enum class Cache : std::uint8_t {
  cold,     ///< Nothing of the call's, and nothing that waits to be written: what is reported.
  dirty,    ///< Nothing of the call's, but lines to be written back, as after another kernel.
  hot,      ///< What the same call left.
  rotated,  ///< What the calls before it left, each of which had other addresses: a stream of them.
};

[[nodiscard]] OUROBOROS_API std::string_view to_string(Cache cache) noexcept;

}  // namespace ouroboros
