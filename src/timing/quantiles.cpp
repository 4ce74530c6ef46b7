#include <algorithm>
#include <cmath>

#include "ouroboros/trace.hpp"
#include "timing/require.hpp"

namespace ouroboros::timing {
namespace {

constexpr double kApart = 0.01;
constexpr double kErrorsApart = 3.0;

double quantile(const std::vector<double>& sorted, double probability) {
  const double position = probability * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = position - static_cast<double>(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

}  // namespace

Quantiles quantiles(std::span<const double> values) {
  require(!values.empty(), "quantiles need at least one value");
  require_finite(values);
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return {quantile(sorted, 0.05), quantile(sorted, 0.50), quantile(sorted, 0.95)};
}

Multimodality multimodality(std::span<const double> values, double trim) {
  const TrimmedMean trimmed = trimmed_mean(values, trim);
  require(std::all_of(values.begin(), values.end(), [](double value) { return value > 0.0; }),
          "times must be positive");
  Multimodality result;
  result.quantiles = quantiles(values);
  result.difference = result.quantiles.p50 / trimmed.mean - 1.0;
  result.bound = std::max(kApart, kErrorsApart * trimmed.standard_error / trimmed.mean);
  result.fired = std::abs(result.difference) > result.bound;
  return result;
}

}  // namespace ouroboros::timing
