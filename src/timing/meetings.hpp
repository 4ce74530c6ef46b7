#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ouroboros/trace.hpp"

namespace ouroboros::timing {

/// d = ln second - ln first of two arms, by which of them is in the middle of the block.
///
/// With kappa what an arm gains after itself and mu what it gains at a second meeting,
/// E[d] = mu - kappa in the middle and mu elsewhere, plus drift and slots, which are the same for
/// both arms over the random orders.
struct SecondLessFirst {
  struct Block {
    double candidate;
    double baseline;
  };
  std::vector<Block> candidate_middle;
  std::vector<Block> baseline_middle;
  std::vector<Block> neither_middle;

  /// What each group adds to the contrast of mu and to that of kappa: pooled over all blocks where
  /// an arm is not in the middle, its d are weighted by the sizes of the groups they come from.
  double weight_candidate = 1.0;  ///< Of baseline_middle in the candidate's mean elsewhere.
  double weight_baseline = 1.0;   ///< Of candidate_middle in the baseline's mean elsewhere.
};

[[nodiscard]] SecondLessFirst second_less_first(std::span<const Block> blocks,
                                                std::size_t candidate, std::size_t baseline,
                                                double offset_us);

}  // namespace ouroboros::timing
