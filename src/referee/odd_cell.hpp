#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "referee/race.hpp"

namespace ouroboros::referee {

/// Holds a GPU candidate to the oracle in one shape that is as large as a timed cell and that
/// nobody times: long extents are a little less than the cell's, and odd. The sweep's shapes are
/// small, and those of timed cells are even, so that a tail that is left out in large shapes alone
/// is seen here only. Nothing where the candidate is right, or the reference takes no such shape.
[[nodiscard]] std::optional<Race::Failure> check_odd_cell(const Problem& problem,
                                                          const Compiled& compiled, DType dtype,
                                                          const std::vector<AxisValues>& cells,
                                                          std::uint64_t seed,
                                                          const Options& options);

}  // namespace ouroboros::referee
