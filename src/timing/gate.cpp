#include <algorithm>
#include <cmath>
#include <cstdio>

#include "ouroboros/timing.hpp"
#include "timing/require.hpp"

namespace ouroboros::timing {
namespace {

constexpr double kConfidenceAlpha = 0.05;
constexpr double kLeastSpread = 0.01;    ///< Processes may always differ by this log-ratio.
constexpr double kSpreadInErrors = 4.0;  ///< Or by so many median standard errors.
// What cannot overturn a large effect need not be refused: pages and layout alone spread processes
// by several per cent on a CPU.
constexpr double kSpreadInEffect = 0.5;   ///< Or by this share of the effect.
constexpr double kCopyInEffect = 0.05;    ///< A copy may always differ by this share of the effect.
constexpr std::size_t kOneDissenter = 8;  ///< From so many processes on, one sign may differ.

void require_valid(std::span<const GateRun> runs, const GateRule& rule) {
  require(runs.size() >= 2, "the gate needs at least 2 processes");
  require(rule.runs >= 2, "the gate's rule needs at least 2 processes");
  require(rule.claim > 0.0 && std::isfinite(rule.claim), "the claimed speed-up must be positive");
  require(rule.aa_bound > 0.0, "the bound on A/A must be positive");
  for (const GateRun& run : runs) {
    require(std::isfinite(run.log_ratio) && std::isfinite(run.log_ratio_aa),
            "the log-ratios of every process must be finite");
    require(std::isfinite(run.standard_error) && run.standard_error >= 0.0,
            "the standard error of every process must be finite and not negative");
  }
}

double mean(std::span<const double> values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double variance(std::span<const double> values) {
  const double centre = mean(values);
  double squares = 0.0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return squares / static_cast<double>(values.size() - 1);
}

double mean_square(std::span<const double> values) {
  double squares = 0.0;
  for (const double value : values) squares += value * value;
  return squares / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

/// Half-width of the t-interval of the mean over processes.
double half_width(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  return student_t_quantile(1.0 - 0.5 * kConfidenceAlpha, count - 1.0) *
         std::sqrt(variance(values) / count);
}

template <typename... Figures>
std::string sentence(const char* format, Figures... figures) {
  char text[256];
  std::snprintf(text, sizeof text, format, figures...);
  return text;
}

}  // namespace

Gate gate(std::span<const GateRun> runs, const GateRule& rule) {
  require_valid(runs, rule);
  std::vector<double> ratios;
  std::vector<double> ratios_aa;
  std::vector<double> errors;
  for (const GateRun& run : runs) {
    ratios.push_back(run.log_ratio);
    ratios_aa.push_back(run.log_ratio_aa);
    errors.push_back(run.standard_error);
  }

  Gate result;
  result.aa_mean = mean(ratios_aa);
  result.aa_spread = std::sqrt(mean_square(ratios_aa));
  result.between_process_sd = std::sqrt(std::max(0.0, variance(ratios) - mean_square(errors)));
  const double estimate = mean(ratios);
  const double widened = std::hypot(half_width(ratios), 2.0 * result.aa_spread);
  result.log_ratio = {estimate, estimate - widened, estimate + widened};
  result.speedup = std::exp(-estimate);
  result.safe_speedup = std::exp(-result.log_ratio.high);

  const std::size_t count = runs.size();
  if (count < static_cast<std::size_t>(rule.runs)) {
    result.reasons.push_back(
        sentence("%zu of the %d planned processes were measured", count, rule.runs));
  }
  if (!(result.log_ratio.high < -std::log(rule.claim))) {
    result.reasons.push_back(
        sentence("the safe speed-up is %.4f, which does not beat the claim %.4f",
                 result.safe_speedup, rule.claim));
  }
  const auto faster = static_cast<std::size_t>(
      std::count_if(ratios.begin(), ratios.end(), [](double ratio) { return ratio < 0.0; }));
  const auto slower = static_cast<std::size_t>(
      std::count_if(ratios.begin(), ratios.end(), [](double ratio) { return ratio > 0.0; }));
  const std::size_t needed = count >= kOneDissenter ? count - 1 : count;
  if (std::max(faster, slower) < needed) {
    result.reasons.push_back(
        sentence("the processes disagree on the sign: %zu faster and %zu slower of %zu", faster,
                 slower, count));
  }
  const auto [least, greatest] = std::minmax_element(ratios.begin(), ratios.end());
  const double spread = *greatest - *least;
  const double allowed = std::max(
      {kLeastSpread, kSpreadInErrors * median(errors), kSpreadInEffect * std::abs(estimate)});
  if (spread > allowed) {
    result.reasons.push_back(
        sentence("the processes spread over %.2f %%, more than the %.2f %% allowed", 100.0 * spread,
                 100.0 * allowed));
  }
  const double negligible = kCopyInEffect * std::abs(estimate);
  const double aa_bound = std::max(rule.aa_bound, negligible);
  if (std::abs(result.aa_mean) > aa_bound) {
    result.reasons.push_back(
        sentence("the candidate differs from its own copy by %+.3f %%, more than %.3f %%",
                 100.0 * result.aa_mean, 100.0 * aa_bound));
  }
  const double half_width_aa = half_width(ratios_aa);
  if (std::abs(result.aa_mean) > std::max(half_width_aa, negligible)) {
    result.reasons.push_back(sentence(
        "the candidate differs from its own copy: the interval %+.3f %% to %+.3f %% excludes 0",
        100.0 * (result.aa_mean - half_width_aa), 100.0 * (result.aa_mean + half_width_aa)));
  }
  result.passed = result.reasons.empty();
  return result;
}

}  // namespace ouroboros::timing
