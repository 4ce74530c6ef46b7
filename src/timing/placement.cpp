#include <algorithm>
#include <cmath>
#include <limits>

#include "ouroboros/trace.hpp"
#include "timing/blocks.hpp"
#include "timing/require.hpp"

namespace ouroboros::timing {
namespace {

constexpr std::size_t kFewestChanges = 16;
constexpr double kAlpha = 0.05;  ///< A report and no accusation, of a figure that is hard to see.

double mean(std::span<const double> values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// Standard error of the mean of values of which neighbours share a block.
double standard_error(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  const double centre = mean(values);
  double variance = 0.0;
  double covariance = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double here = values[i] - centre;
    variance += here * here;
    if (i + 1 < values.size()) covariance += here * (values[i + 1] - centre);
  }
  return std::sqrt((variance + 2.0 * std::max(0.0, covariance)) / (count * (count - 1.0)));
}

/// Interval of a variance that is a mean of squares: symmetric in its logarithm, as such means are
/// more nearly than in themselves.
Interval variance_interval(std::span<const double> squares) {
  const double variance = mean(squares);
  if (!(variance > 0.0)) return {};
  const double t =
      student_t_quantile(1.0 - 0.5 * kAlpha, static_cast<double>(squares.size()) - 1.0);
  const double factor = std::exp(t * standard_error(squares) / variance);
  return {variance, variance / factor, variance * factor};
}

/// Of the difference of two, from their own limits (MOVER: Zou and Donner, 2008).
Interval difference(const Interval& a, const Interval& b) {
  const double estimate = a.estimate - b.estimate;
  return {estimate, estimate - std::hypot(a.estimate - a.low, b.high - b.estimate),
          estimate + std::hypot(a.high - a.estimate, b.estimate - b.low)};
}

}  // namespace

Placement placement(std::span<const Block> blocks, std::size_t arm, double offset_us) {
  require_valid(blocks);
  std::vector<double> means;
  std::vector<double> seconds;  // ln second - ln first
  for (const Block& block : blocks) {
    const Meetings of = meetings(block, arm);
    const double second = second_less_first(of, offset_us);
    seconds.push_back(second);
    means.push_back(std::log(launch_free_us(of.first, offset_us)) + 0.5 * second);
  }

  Placement result;
  result.sd = {0.0, 0.0, std::numeric_limits<double>::infinity()};
  // Variances of one block mean, each from one pair of neighbours.
  std::vector<double> across;  // on different sets
  std::vector<double> along;   // on the same set
  for (std::size_t i = 1; i < means.size(); ++i) {
    const double difference = means[i] - means[i - 1];
    (blocks[i].set == blocks[i - 1].set ? along : across).push_back(0.5 * difference * difference);
  }
  result.changes = static_cast<int>(across.size());
  // What the two samples of a block say of the variance of their mean. A second meeting that
  // differs in every block alike is no noise.
  std::vector<double> within;
  const double gain = seconds.empty() ? 0.0 : mean(seconds);
  for (const double second : seconds) within.push_back(0.25 * (second - gain) * (second - gain));
  const std::vector<double>& noise = along.size() >= kFewestChanges ? along : within;
  if (!noise.empty()) result.within_sd = std::sqrt(mean(noise));
  if (across.size() < kFewestChanges) return result;

  const Interval variance = difference(variance_interval(across), variance_interval(noise));
  const auto sd = [](double value) { return std::sqrt(std::max(0.0, value)); };
  result.sd = {sd(variance.estimate), sd(variance.low), sd(variance.high)};
  result.fired = result.sd.low > 0.0;
  return result;
}

}  // namespace ouroboros::timing
