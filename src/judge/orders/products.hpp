#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <optional>
#include <string_view>

/// Products of matrices and convolutions as plain loops make them: libraries' are blocked, and lose
/// less.
namespace ouroboros::judge {

/// Whether an operator makes a product of matrices, or a convolution.
[[nodiscard]] bool multiplies_matrices(std::string_view name);

/// How `cdist` is to compute (`compute_mode`): of near points a product of matrices loses what they
/// differ by.
inline constexpr std::int64_t by_differences = 2;

/// The product of two matrices (batches of them, or vectors) of one dtype, as `product_by_loops`
/// makes it. Empty where that would be.
[[nodiscard]] std::optional<at::Tensor> product_in_order(const at::Tensor& first,
                                                         const at::Tensor& second, int order);

/// The result of a product of matrices, of a convolution, or of distances by a product, whose
/// arguments end `stack`. Terms are added one after the other in orders 0 and 2, and in 1 and 3 in
/// parts of 8 that are cut off, not rounded, when they are added to the sum, as tensor cores do,
/// there or back, whichever loses more of a result; but for order 0 one factor is off by roundings
/// of float32, as it is where that was scaled first, or where products are rounded before they are
/// added. In float64 there are only the orders. Empty for other operators, for tensors that are not
/// on the host, and for what would take very long.
[[nodiscard]] std::optional<at::Tensor> product_by_loops(std::string_view name,
                                                         const c10::FunctionSchema& schema,
                                                         const torch::jit::Stack& stack, int order);

}  // namespace ouroboros::judge
