#pragma once

#include <cstdint>
#include <optional>

#include "judge/comparison/last_places.hpp"
#include "ouroboros/dtype.hpp"

namespace ouroboros::judge {

/// Results that are not the nearest ones, though these are near.
struct Misrounded {
  std::int64_t told = 0;   ///< Numbers within a quarter of a unit of the nearest.
  std::int64_t wrong = 0;  ///< Those that became another one.
};

/// Whether results in 16 or 8 bits lie on either side of the true values, as those do that are
/// rounded up and down in turn: each is within one unit in the last place, and nothing is off on
/// average. Nothing where an honest kernel may have come by it.
[[nodiscard]] std::optional<Misrounded> misrounded(const LastPlaces& places, DType dtype);

}  // namespace ouroboros::judge
