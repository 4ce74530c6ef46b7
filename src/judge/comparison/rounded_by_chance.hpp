#pragma once

#include <cstdint>
#include <optional>

#include "judge/comparison/last_places.hpp"

namespace ouroboros::judge {

/// Results of rows with the same true values, each of which was met twice.
struct RoundedByChance {
  std::int64_t told = 0;    ///< Numbers within a quarter of a unit of the nearest.
  std::int64_t differ = 0;  ///< Those that became something else in the next row.
};

/// Whether results in 16 or 8 bits are rounded by chance, or by their row: what is computed from
/// the same numbers is rounded alike, however often on its way. `columns` is the extent of a row.
[[nodiscard]] std::optional<RoundedByChance> rounded_by_chance(const LastPlaces& places,
                                                               std::int64_t columns);

}  // namespace ouroboros::judge
