#pragma once

#include <limits>
#include <span>
#include <vector>

#include "ouroboros/timing.hpp"

namespace ouroboros::timing {

/// What is known without enough blocks: nothing.
[[nodiscard]] inline Interval unbounded() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return {0.0, -infinity, infinity};
}

/// Interval of a sum of trimmed means of independent groups at the guards' confidence: their
/// variances add, with the degrees of freedom of Welch and Satterthwaite. For two groups it is the
/// test of Yuen (1974). Unbounded when a group has fewer than 4 values.
[[nodiscard]] Interval contrast(std::span<const std::vector<double>> groups);

/// The interval of one group.
[[nodiscard]] inline Interval contrast(const std::vector<double>& values) {
  return contrast(std::span(&values, 1));
}

[[nodiscard]] inline bool excludes_zero(const Interval& interval) {
  return interval.low > 0.0 || interval.high < 0.0;
}

}  // namespace ouroboros::timing
