#include <algorithm>
#include <cmath>

#include "ouroboros/trace.hpp"
#include "timing/blocks.hpp"
#include "timing/contrast.hpp"
#include "timing/meetings.hpp"

namespace ouroboros::timing {
namespace {

/// Second meetings differ by up to 0.2 % between honest arms whose pages were touched before.
constexpr double kRemembers = -0.005;

/// Half of this is in the ratio.
constexpr double kUneven = 0.01;

/// More than so much of a 99 % interval's half width is hardly chance: 1.9 to 2.3 standard errors.
constexpr double kHardlyChance = 0.75;

/// First meetings are half of the samples, and the ratio's interval from them alone is some 1.4
/// times as wide. Where it is so much narrower, second meetings have something in them now and
/// then: equal noise hardly ever brings that about.
constexpr double kBetterAlone = 0.5;
constexpr std::size_t kFewestCompared = 16;

double width(std::span<const Block> blocks, std::size_t candidate, std::size_t baseline,
             double offset_us) {
  constexpr double alpha = 0.01;
  const auto ratios = log_ratios(blocks, candidate, baseline, offset_us);
  const auto interval = trimmed_interval(ratios, 0.1, alpha);
  return interval.high - interval.low;
}

bool better_alone(std::span<const Block> blocks, std::size_t candidate, std::size_t baseline,
                  double offset_us) {
  return blocks.size() >= kFewestCompared &&
         width(first_meetings(blocks), candidate, baseline, offset_us) <
             kBetterAlone * width(blocks, candidate, baseline, offset_us);
}

/// Contrast of mu alone: only d of arms that are not in the middle.
Interval apart(const SecondLessFirst& d) {
  const double w = d.weight_candidate;
  const double v = d.weight_baseline;
  std::vector<std::vector<double>> groups;
  if (w > 0.0) {
    auto& group = groups.emplace_back();
    for (const auto& block : d.baseline_middle) group.push_back(w * block.candidate);
  }
  if (v > 0.0) {
    auto& group = groups.emplace_back();
    for (const auto& block : d.candidate_middle) group.push_back(-v * block.baseline);
  }
  if (w < 1.0 || v < 1.0) {
    auto& group = groups.emplace_back();
    for (const auto& block : d.neither_middle) {
      group.push_back((1.0 - w) * block.candidate - (1.0 - v) * block.baseline);
    }
  }
  return contrast(groups);
}

}  // namespace

MemoryTest memory_test(std::span<const Block> blocks, std::size_t candidate, std::size_t baseline,
                       double offset_us) {
  const SecondLessFirst d = second_less_first(blocks, candidate, baseline, offset_us);
  std::vector<double> differences;
  for (const auto* group : {&d.candidate_middle, &d.baseline_middle, &d.neither_middle}) {
    for (const auto& block : *group) differences.push_back(block.candidate - block.baseline);
  }
  MemoryTest result;
  result.paired = contrast(differences);
  result.apart = apart(d);
  result.fired = result.paired.high < kRemembers && result.apart.high < kRemembers;
  const double half_width = 0.5 * (result.paired.high - result.paired.low);
  result.uneven =
      std::abs(result.paired.estimate) > std::max(kUneven, kHardlyChance * half_width) ||
      better_alone(blocks, candidate, baseline, offset_us);
  return result;
}

std::vector<Block> first_meetings(std::span<const Block> blocks) {
  require_valid(blocks);
  std::vector<Block> result(blocks.begin(), blocks.end());
  for (auto& block : result) {
    auto& samples = block.samples;
    std::copy(samples.begin(), samples.begin() + samples.size() / 2, samples.rbegin());
  }
  return result;
}

}  // namespace ouroboros::timing
