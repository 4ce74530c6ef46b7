#pragma once

#include <cstdint>
#include <optional>

#include "judge/comparison/last_places.hpp"

namespace ouroboros::judge {

/// Results that lie to one side of the true values.
struct CutOff {
  double mean = 0.0;       ///< Error in units in the last place, of sizes or of numbers.
  bool of_sizes = true;    ///< Below zero: too near to zero, or else too low.
  std::int64_t wrong = 0;  ///< Elements that are further off than rounding is.
};

/// Whether results in 16 or 8 bits are cut off where the reference rounds them. Each is within one
/// unit in the last place, and all together are half a unit short: who adds them up step by step
/// never arrives. Nothing where the reference does more than round once.
[[nodiscard]] std::optional<CutOff> cut_off(const LastPlaces& places);

}  // namespace ouroboros::judge
