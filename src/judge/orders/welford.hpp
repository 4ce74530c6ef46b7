#pragma once

#include <ATen/core/Tensor.h>

#include "judge/orders/given.hpp"

namespace ouroboros::judge {

/// Of two tensors of one shape, or of one and itself: the mean of the first, and the sums of the
/// products of what their numbers are away from their means. The extents of what was added along
/// are one.
struct Comoments {
  at::Tensor mean;
  at::Tensor products;
};

/// In one pass, as who knows nothing of a row before passing it computes variances and covariances.
/// Of several walks through a row, the one whose sum is the farthest from the truth: where there is
/// one row with a mean far from zero, a single walk may be right by chance. For float32 and float64
/// in a processor's memory.
[[nodiscard]] Comoments comoments_in_one_pass(const at::Tensor& x, const at::Tensor& y,
                                              const Extents& dims);

}  // namespace ouroboros::judge
