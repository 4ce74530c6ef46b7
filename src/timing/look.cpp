#include <algorithm>
#include <cmath>

#include "ouroboros/timing.hpp"
#include "timing/contrast.hpp"
#include "timing/require.hpp"

namespace ouroboros::timing {
namespace {

/// Above this the blocks are no longer independent enough for the standard error to be true.
constexpr double kLargestAutocorrelation = 0.2;

/// The fewest values that a trimmed mean takes.
constexpr std::size_t kFewestValues = 4;

/// Merging stops here: below it, what the t-interval loses in width outweighs what it gains.
constexpr std::size_t kFewestMerged = 8;

void require_valid(const Plan& plan) {
  require(!plan.looks.empty(), "a plan needs at least one look");
  require(plan.looks.front() >= static_cast<int>(kFewestValues),
          "the first look must come after at least 4 blocks");
  for (std::size_t i = 1; i < plan.looks.size(); ++i) {
    require(plan.looks[i - 1] < plan.looks[i], "looks must be strictly increasing");
  }
  require(plan.alpha > 0.0 && plan.alpha < 1.0, "alpha must lie between 0 and 1");
  require(plan.trim >= 0.0 && plan.trim < 0.5, "trim must be at least 0 and less than 0.5");
  require(plan.minimum_effect >= 0.0, "minimum_effect must not be negative");
  require(plan.half_width > 0.0, "half_width must be positive");
}

double lag1_autocorrelation(std::span<const double> values) {
  double mean = 0.0;
  for (const double value : values) mean += value;
  mean /= static_cast<double>(values.size());
  double variance = 0.0;
  double covariance = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double here = values[i] - mean;
    variance += here * here;
    if (i + 1 < values.size()) covariance += here * (values[i + 1] - mean);
  }
  return variance > 0.0 ? covariance / variance : 0.0;
}

/// Means of neighbouring pairs. An odd block at the end is left out.
std::vector<double> merge_pairs(std::span<const double> values) {
  std::vector<double> merged(values.size() / 2);
  for (std::size_t i = 0; i < merged.size(); ++i) {
    merged[i] = 0.5 * (values[2 * i] + values[2 * i + 1]);
  }
  return merged;
}

double width(const Interval& interval) { return interval.high - interval.low; }

/// What the interval supports, or `undecided`.
Decision supported(const Interval& interval, double minimum_effect) {
  if (interval.low > 0.0) return Decision::slower;
  if (interval.high < 0.0) return Decision::faster;
  if (interval.low > -minimum_effect && interval.high < minimum_effect) return Decision::same;
  return Decision::undecided;
}

}  // namespace

std::span<const int> looks_of(const Plan& plan, Mode mode) noexcept {
  const std::span<const int> looks = plan.looks;
  if (looks.empty() || mode == Mode::report) return looks;
  if (mode == Mode::screen) return looks.first(1);
  const auto within = std::upper_bound(looks.begin(), looks.end(), plan.decide_blocks);
  return looks.first(std::max<std::size_t>(static_cast<std::size_t>(within - looks.begin()), 1));
}

std::string_view to_string(Mode mode) noexcept {
  switch (mode) {
    case Mode::screen:
      return "screen";
    case Mode::decide:
      return "decide";
    case Mode::report:
      return "report";
  }
  return "unknown";
}

std::string_view to_string(Decision decision) noexcept {
  switch (decision) {
    case Decision::faster:
      return "faster";
    case Decision::slower:
      return "slower";
    case Decision::same:
      return "same";
    case Decision::ambiguous:
      return "ambiguous";
    case Decision::undecided:
      return "undecided";
  }
  return "unknown";
}

Look look(std::span<const double> block_log_ratios, const Plan& plan, Mode mode, bool budget_spent,
          std::span<const std::size_t> groups) {
  require_valid(plan);
  const std::span<const int> looks = looks_of(plan, mode);
  require(block_log_ratios.size() <= static_cast<std::size_t>(looks.back()),
          "more blocks than the last look: the plan's levels do not cover them");
  require_finite(block_log_ratios);
  const int blocks = static_cast<int>(block_log_ratios.size());
  const bool planned = std::binary_search(looks.begin(), looks.end(), blocks);

  Look result;
  result.blocks = blocks;
  result.log_ratio = unbounded();
  if (!planned && !budget_spent) return result;
  const bool last = budget_spent || blocks == looks.back();
  if (block_log_ratios.size() < kFewestValues) {
    result.decision = Decision::ambiguous;
    result.stop = true;
    return result;
  }

  result.lag1_autocorrelation = lag1_autocorrelation(block_log_ratios);
  std::vector<double> values(block_log_ratios.begin(), block_log_ratios.end());
  while (values.size() >= 2 * kFewestMerged &&
         lag1_autocorrelation(values) > kLargestAutocorrelation) {
    values = merge_pairs(values);
    result.merged_pairs = true;
  }
  // An answer forced between two looks takes the place of the next one, so that never more looks
  // are taken than alpha is split over.
  const double alpha = plan.alpha / static_cast<double>(looks.size());
  result.log_ratio = trimmed_interval(block_log_ratios, plan.trim, alpha, groups);
  if (result.merged_pairs) {
    const Interval merged = trimmed_interval(values, plan.trim, alpha);
    if (width(merged) > width(result.log_ratio)) result.log_ratio = merged;
  }

  const Decision decision = supported(result.log_ratio, plan.minimum_effect);
  const double half_width = 0.5 * width(result.log_ratio);
  const bool precise =
      half_width <= std::max(plan.half_width, 0.25 * std::abs(result.log_ratio.estimate));
  const bool satisfied = mode == Mode::report ? precise : decision != Decision::undecided;
  if (last || satisfied) {
    result.stop = true;
    result.decision = decision == Decision::undecided ? Decision::ambiguous : decision;
  }
  return result;
}

}  // namespace ouroboros::timing
