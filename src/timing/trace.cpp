#include "ouroboros/trace.hpp"

#include <algorithm>
#include <cmath>

#include "timing/blocks.hpp"
#include "timing/require.hpp"

namespace ouroboros::timing {

std::vector<double> log_ratios(std::span<const Block> blocks, std::size_t candidate,
                               std::size_t baseline, double offset_us) {
  require_valid(blocks);
  std::vector<double> result;
  result.reserve(blocks.size());
  for (const Block& block : blocks) {
    const Meetings a = meetings(block, candidate);
    const Meetings b = meetings(block, baseline);
    result.push_back(
        block_log_ratio(launch_free_us(a.first, offset_us), launch_free_us(a.second, offset_us),
                        launch_free_us(b.first, offset_us), launch_free_us(b.second, offset_us)));
  }
  return result;
}

std::vector<double> latencies(std::span<const Block> blocks, std::size_t arm, double offset_us) {
  require_valid(blocks);
  std::vector<double> result;
  result.reserve(2 * blocks.size());
  for (const Block& block : blocks) {
    const Meetings of = meetings(block, arm);
    result.push_back(launch_free_us(of.first, offset_us));
    result.push_back(launch_free_us(of.second, offset_us));
  }
  return result;
}

std::vector<std::size_t> codes(std::span<const Block> blocks) {
  std::vector<std::size_t> result;
  result.reserve(blocks.size());
  for (const Block& block : blocks) result.push_back(block.code);
  return result;
}

Interval latency(std::span<const Block> blocks, std::size_t arm, double offset_us, double trim,
                 double alpha) {
  const std::vector<double> samples = latencies(blocks, arm, offset_us);
  std::vector<double> means(blocks.size());
  for (std::size_t i = 0; i < means.size(); ++i) {
    means[i] = 0.5 * (samples[2 * i] + samples[2 * i + 1]);
  }
  return trimmed_interval(means, trim, alpha, codes(blocks));
}

Interval launch_free(std::span<const Block> blocks, std::size_t candidate, std::size_t baseline,
                     const Interval& offset_us, double trim, double alpha) {
  require(offset_us.low <= offset_us.estimate && offset_us.estimate <= offset_us.high,
          "the offset's estimate must lie in its interval");
  const std::vector<std::size_t> groups = codes(blocks);
  Interval result = trimmed_interval(log_ratios(blocks, candidate, baseline, offset_us.estimate),
                                     trim, alpha, groups);
  // An interval around a small offset may reach below 0, a cost may not.
  for (const double offset : {std::max(0.0, offset_us.low), offset_us.high}) {
    const Interval at =
        trimmed_interval(log_ratios(blocks, candidate, baseline, offset), trim, alpha, groups);
    result.low = std::min(result.low, at.low);
    result.high = std::max(result.high, at.high);
  }
  return result;
}

double slope(double long_us, double short_us, int n_long, int n_short) {
  require(n_short >= 1 && n_long > n_short, "a slope needs n_long > n_short >= 1");
  require(std::isfinite(long_us) && std::isfinite(short_us) && long_us > 0.0 && short_us > 0.0,
          "the times of both chains must be positive and finite");
  return (long_us - short_us) / static_cast<double>(n_long - n_short);
}

}  // namespace ouroboros::timing
