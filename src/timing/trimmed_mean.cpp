#include <algorithm>
#include <cmath>

#include "ouroboros/timing.hpp"
#include "timing/require.hpp"

namespace ouroboros::timing {

TrimmedMean trimmed_mean(std::span<const double> values, double trim) {
  require(values.size() >= 4, "a trimmed mean needs at least 4 values");
  require(trim >= 0.0 && trim < 0.5, "trim must be at least 0 and less than 0.5");
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
  std::fill_n(sorted.begin(), cut, sorted[cut]);
  std::fill_n(sorted.end() - static_cast<std::ptrdiff_t>(cut), cut, sorted[n - cut - 1]);
  double winsorised_mean = 0.0;
  for (const double value : sorted) winsorised_mean += value;
  winsorised_mean /= static_cast<double>(n);
  double squares = 0.0;
  for (const double value : sorted)
    squares += (value - winsorised_mean) * (value - winsorised_mean);
  const double winsorised_sd = std::sqrt(squares / static_cast<double>(n - 1));

  TrimmedMean result;
  result.mean = sum / static_cast<double>(kept);
  // (1 - 2 cut / n) sqrt(n) = kept / sqrt(n)
  result.standard_error =
      winsorised_sd * std::sqrt(static_cast<double>(n)) / static_cast<double>(kept);
  result.degrees_of_freedom = static_cast<int>(kept) - 1;
  return result;
}

Interval trimmed_interval(std::span<const double> values, double trim, double alpha) {
  require(alpha > 0.0 && alpha < 1.0, "alpha must lie between 0 and 1");
  const TrimmedMean estimate = trimmed_mean(values, trim);
  const double half_width =
      student_t_quantile(1.0 - 0.5 * alpha, estimate.degrees_of_freedom) * estimate.standard_error;
  return {estimate.mean, estimate.mean - half_width, estimate.mean + half_width};
}

}  // namespace ouroboros::timing
