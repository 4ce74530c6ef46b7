#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "referee/race.hpp"

namespace ouroboros::referee {

struct OddCell {
  std::optional<Race::Failure> failure;  ///< None where the candidate is right.
  double oracle_s = 0.0;                 ///< See `Race`.
};

/// Holds a candidate to the oracle in one shape that is as large as a timed cell and that
/// nobody times: long extents are a little less than the cell's, and odd. The sweep's shapes are
/// small, and those of timed cells are even, so that a tail that is left out in large shapes alone
/// is seen here only. Nothing where the reference takes no such shape.
[[nodiscard]] OddCell check_odd_cell(const Problem& problem, const Compiled& compiled, DType dtype,
                                     const std::vector<AxisValues>& cells, std::uint64_t seed,
                                     const Options& options);

}  // namespace ouroboros::referee
