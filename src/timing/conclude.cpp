#include <cmath>

#include "ouroboros/trace.hpp"
#include "timing/require.hpp"

namespace ouroboros::timing {

Conclusion conclude(const Look& look, std::span<const double> block_log_ratios, const Plan& plan,
                    std::uint64_t seed) {
  require(plan.alpha > 0.0 && plan.alpha < 1.0, "alpha must lie between 0 and 1");
  require(look.blocks == static_cast<int>(block_log_ratios.size()),
          "the look was taken of another number of blocks");
  Conclusion result;
  result.decision = look.decision;
  if (block_log_ratios.empty()) return result;
  result.sign_flip_p = sign_flip_p_value(block_log_ratios, seed);
  const bool claims = look.decision == Decision::faster || look.decision == Decision::slower;
  const double least_p = std::exp2(1.0 - static_cast<double>(block_log_ratios.size()));
  if (claims && least_p <= plan.alpha && result.sign_flip_p > plan.alpha) {
    result.contradicted = true;
    result.decision = Decision::ambiguous;
  }
  return result;
}

}  // namespace ouroboros::timing
