#include "timing/meetings.hpp"

#include "timing/blocks.hpp"
#include "timing/require.hpp"

namespace ouroboros::timing {
namespace {

/// Share of the blocks of `middle` among those and `neither`, where a group too small for a trimmed
/// mean is left out.
double weight(std::size_t middle, std::size_t neither) {
  if (neither < fewest_values) return 1.0;
  if (middle < fewest_values) return 0.0;
  return static_cast<double>(middle) / static_cast<double>(middle + neither);
}

}  // namespace

SecondLessFirst second_less_first(std::span<const Block> blocks, std::size_t candidate,
                                  std::size_t baseline, double offset_us) {
  require(candidate != baseline, "an arm cannot be compared with itself");
  require_valid(blocks);
  SecondLessFirst result;
  for (const Block& block : blocks) {
    const Meetings a = meetings(block, candidate);
    const Meetings b = meetings(block, baseline);
    auto& group = a.middle   ? result.candidate_middle
                  : b.middle ? result.baseline_middle
                             : result.neither_middle;
    group.push_back({second_less_first(a, offset_us), second_less_first(b, offset_us)});
  }
  result.weight_candidate = weight(result.baseline_middle.size(), result.neither_middle.size());
  result.weight_baseline = weight(result.candidate_middle.size(), result.neither_middle.size());
  return result;
}

}  // namespace ouroboros::timing
