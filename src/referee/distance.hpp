#pragma once

#include <ATen/core/Tensor.h>

namespace ouroboros::referee {

/// Largest |a - b| over the elements of two contiguous tensors of one shape and dtype, infinite
/// where only one of them is NaN. One pass, no allocation: it runs after every timed sample.
[[nodiscard]] double largest_distance(const at::Tensor& a, const at::Tensor& b);

/// The same by LibTorch's operators, which is what tensors on another device need.
[[nodiscard]] double distance_by_operators(const at::Tensor& a, const at::Tensor& b);

}  // namespace ouroboros::referee
