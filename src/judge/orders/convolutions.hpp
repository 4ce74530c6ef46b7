#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "judge/orders/given.hpp"

/// Convolutions as products of matrices: each window is a row, each channel of the result a column.
/// See `product_by_loops` for the orders; what is empty there is so here.
namespace ouroboros::judge {

/// The result of the operator `convolution`, transposed or not.
[[nodiscard]] std::optional<at::Tensor> convolution_in_order(const Given& given);

/// The results of `convolution_backward`: gradients of input, weight and bias, undefined where they
/// are not asked for.
[[nodiscard]] std::optional<std::vector<at::Tensor>> convolution_backward_in_order(
    const Given& given);

}  // namespace ouroboros::judge
