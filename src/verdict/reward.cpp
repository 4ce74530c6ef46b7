#include <algorithm>
#include <cmath>

#include "ouroboros/verdict.hpp"

namespace ouroboros {
namespace {

// Geometric mean over all cells of the lower ends of the speed-ups against `baseline`; nothing
// unless every cell timed it: a mean over the cells that happened to work is another figure.
std::optional<double> safe_speedup(const Timing& timing, std::string_view baseline) {
  if (!timing.ran || timing.cells.empty()) return std::nullopt;
  double log_sum = 0.0;
  for (const TimedCell& cell : timing.cells) {
    const auto found =
        std::find_if(cell.baselines.begin(), cell.baselines.end(),
                     [&](const BaselineTiming& entry) { return entry.name == baseline; });
    if (found == cell.baselines.end() || found->status != "timed") return std::nullopt;
    const double low = found->speedup.low;
    // An interval without a usable lower end supports no speed-up at all.
    if (!std::isfinite(low) || low <= 0.0) return 0.0;
    log_sum += std::log(low);
  }
  return std::exp(log_sum / static_cast<double>(timing.cells.size()));
}

double reward_of_correct(const Timing& timing, const RewardPolicy& policy) {
  std::optional<double> speedup = safe_speedup(timing, policy.baseline);
  if (!speedup) speedup = safe_speedup(timing, "eager");
  const double gain = speedup ? std::max(0.0, *speedup - 1.0) : 0.0;
  return std::min(policy.maximum, policy.correct + policy.speedup_weight * gain);
}

}  // namespace

std::optional<double> Verdict::reward(const RewardPolicy& policy) const {
  if (isolation.level == "interpreted" && !policy.interpreted) return std::nullopt;
  switch (status) {
    case Status::ok:
      return reward_of_correct(timing, policy);
    case Status::incorrect:
      return policy.incorrect;
    case Status::runtime_error:
      return policy.runtime_error;
    case Status::timeout:
      return policy.timeout;
    case Status::compile_error:
      return policy.compile_error;
    case Status::rejected:
      return policy.rejected;
    case Status::invalid_problem:
    case Status::infrastructure_error:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace ouroboros
