#include <cmath>

#include "ouroboros/trace.hpp"
#include "timing/contrast.hpp"
#include "timing/meetings.hpp"

namespace ouroboros::timing {
namespace {

/// A contrast of this size moves the log-ratio by a quarter of it: less than 0.1 %.
constexpr double kLargestContrast = 0.003;

/// kappa of one arm: d elsewhere less d in the middle.
template <typename Group>
Interval kappa(const Group& middle, const Group& elsewhere_1, const Group& elsewhere_2,
               double SecondLessFirst::Block::* arm) {
  std::vector<std::vector<double>> groups(2);
  for (const auto& block : elsewhere_1) groups[0].push_back(block.*arm);
  for (const auto& block : elsewhere_2) groups[0].push_back(block.*arm);
  for (const auto& block : middle) groups[1].push_back(-(block.*arm));
  return contrast(groups);
}

/// [mean d_A elsewhere - mean d_A in the middle] - [the same of B], as a sum over groups of blocks
/// that are independent of each other. With two arms it is the mean of d_A + d_B over blocks with B
/// in the middle, less the same with A in the middle.
Interval difference(const SecondLessFirst& d) {
  const double w = d.weight_candidate;
  const double v = d.weight_baseline;
  std::vector<std::vector<double>> groups(2);
  for (const auto& block : d.baseline_middle) {
    groups[0].push_back(w * block.candidate + block.baseline);
  }
  for (const auto& block : d.candidate_middle) {
    groups[1].push_back(-block.candidate - v * block.baseline);
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

CarryOver carry_over(std::span<const Block> blocks, std::size_t candidate, std::size_t baseline,
                     double offset_us) {
  using D = SecondLessFirst;
  const D d = second_less_first(blocks, candidate, baseline, offset_us);
  CarryOver result;
  result.candidate =
      kappa(d.candidate_middle, d.baseline_middle, d.neither_middle, &D::Block::candidate);
  result.baseline =
      kappa(d.baseline_middle, d.candidate_middle, d.neither_middle, &D::Block::baseline);
  result.difference = difference(d);
  result.fired =
      std::abs(result.difference.estimate) > kLargestContrast && excludes_zero(result.difference);
  return result;
}

}  // namespace ouroboros::timing
