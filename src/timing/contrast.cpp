#include "timing/contrast.hpp"

#include <cmath>

#include "timing/blocks.hpp"

namespace ouroboros::timing {

Interval contrast(std::span<const std::vector<double>> groups) {
  double estimate = 0.0;
  double variance = 0.0;
  double squares = 0.0;  // of the groups' variances, each over its degrees of freedom
  for (const std::vector<double>& group : groups) {
    if (group.size() < fewest_values) return unbounded();
    const TrimmedMean mean = trimmed_mean(group, guard_trim);
    const double of_group = mean.standard_error * mean.standard_error;
    estimate += mean.mean;
    variance += of_group;
    squares += of_group * of_group / mean.degrees_of_freedom;
  }
  if (!(squares > 0.0)) return {estimate, estimate, estimate};  // identical values: a point
  const double half_width =
      student_t_quantile(1.0 - 0.5 * guard_alpha, variance * variance / squares) *
      std::sqrt(variance);
  return {estimate, estimate - half_width, estimate + half_width};
}

}  // namespace ouroboros::timing
