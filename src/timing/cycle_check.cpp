#include <cmath>

#include "ouroboros/trace.hpp"
#include "timing/blocks.hpp"
#include "timing/contrast.hpp"
#include "timing/require.hpp"

namespace ouroboros::timing {
namespace {

constexpr double kLargestDifference = 0.003;

bool has_clocks(const Meetings& of) {
  return of.first.clock_mhz > 0.0 && of.second.clock_mhz > 0.0;
}

}  // namespace

CycleCheck cycle_check(std::span<const Block> blocks, std::size_t candidate, std::size_t baseline) {
  require(candidate != baseline, "an arm cannot be compared with itself");
  require_valid(blocks);
  std::vector<double> differences;
  for (const Block& block : blocks) {
    const Meetings a = meetings(block, candidate);
    const Meetings b = meetings(block, baseline);
    if (!has_clocks(a) || !has_clocks(b)) continue;
    // ln(t f) - ln t = ln f: of the ratio in cycles only the clocks are left.
    differences.push_back(block_log_ratio(a.first.clock_mhz, a.second.clock_mhz, b.first.clock_mhz,
                                          b.second.clock_mhz));
  }
  CycleCheck result;
  result.blocks = static_cast<int>(differences.size());
  result.difference = contrast(differences);
  result.clock_confounded =
      std::abs(result.difference.estimate) > kLargestDifference && excludes_zero(result.difference);
  return result;
}

}  // namespace ouroboros::timing
