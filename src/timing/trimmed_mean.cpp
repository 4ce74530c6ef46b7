#include <algorithm>
#include <cmath>
#include <map>

#include "ouroboros/timing.hpp"
#include "timing/require.hpp"

namespace ouroboros::timing {
namespace {

/// Fewer groups say too little of how groups differ.
constexpr std::size_t kFewestGroups = 8;

/// How far the sums of groups are from what the mean has them be: the root of their mean square,
/// by value. Corrected for the mean, which was taken from them; 0 for too few groups. `count` gets
/// how many there are.
double deviation_of_groups(std::span<const double> winsorised, double mean,
                           std::span<const std::size_t> groups, std::size_t& count) {
  std::map<std::size_t, double> sums;
  for (std::size_t i = 0; i < groups.size(); ++i) sums[groups[i]] += winsorised[i] - mean;
  count = sums.size();
  if (count < kFewestGroups) return 0.0;
  double squares = 0.0;
  for (const auto& [group, sum] : sums) squares += sum * sum;
  const auto size = static_cast<double>(winsorised.size());
  const auto number = static_cast<double>(count);
  return std::sqrt(squares / size * number / (number - 1.0));
}

}  // namespace

TrimmedMean trimmed_mean(std::span<const double> values, double trim,
                         std::span<const std::size_t> groups) {
  require(values.size() >= 4, "a trimmed mean needs at least 4 values");
  require(trim >= 0.0 && trim < 0.5, "trim must be at least 0 and less than 0.5");
  require(groups.empty() || groups.size() == values.size(), "every value needs a group, or none");
  require_finite(values);
  const std::size_t n = values.size();
  // The small addend keeps 0.29 * 100 = 28.999... from losing a value to rounding.
  const auto cut = static_cast<std::size_t>(std::floor(trim * static_cast<double>(n) + 1e-9));
  require(n >= 2 * cut + 2, "trim leaves fewer than 2 values");
  const std::size_t kept = n - 2 * cut;

  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  double sum = 0.0;
  for (std::size_t i = cut; i < n - cut; ++i) sum += sorted[i];

  // Winsorise: what was trimmed takes the value of the nearest one that was kept.
  std::vector<double> winsorised(values.begin(), values.end());
  for (double& value : winsorised) value = std::clamp(value, sorted[cut], sorted[n - cut - 1]);
  double winsorised_mean = 0.0;
  for (const double value : winsorised) winsorised_mean += value;
  winsorised_mean /= static_cast<double>(n);
  double squares = 0.0;
  for (const double value : winsorised)
    squares += (value - winsorised_mean) * (value - winsorised_mean);
  double deviation = std::sqrt(squares / static_cast<double>(n - 1));

  TrimmedMean result;
  result.mean = sum / static_cast<double>(kept);
  result.degrees_of_freedom = static_cast<int>(kept) - 1;
  std::size_t count = 0;
  const double grouped = deviation_of_groups(winsorised, winsorised_mean, groups, count);
  if (grouped > deviation) {
    deviation = grouped;
    result.degrees_of_freedom = static_cast<int>(count) - 1;
  }
  // (1 - 2 cut / n) sqrt(n) = kept / sqrt(n)
  result.standard_error = deviation * std::sqrt(static_cast<double>(n)) / static_cast<double>(kept);
  return result;
}

Interval trimmed_interval(std::span<const double> values, double trim, double alpha,
                          std::span<const std::size_t> groups) {
  require(alpha > 0.0 && alpha < 1.0, "alpha must lie between 0 and 1");
  const TrimmedMean estimate = trimmed_mean(values, trim, groups);
  const double half_width =
      student_t_quantile(1.0 - 0.5 * alpha, estimate.degrees_of_freedom) * estimate.standard_error;
  return {estimate.mean, estimate.mean - half_width, estimate.mean + half_width};
}

}  // namespace ouroboros::timing
