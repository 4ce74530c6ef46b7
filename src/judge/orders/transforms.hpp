#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string_view>

/// Fourier transforms as products with a table of sines and cosines, which kernels make for short
/// rows: a fast transform loses less, and cancels to zeros that such a product does not have.
namespace ouroboros::judge {

/// The result of a Fourier transform whose arguments end `stack`, with its terms added in the order
/// `order` (from 0, below `orders`), in the precision of the terms. But for order 0 the angles of
/// the table are rounded, too. Empty for other operators, for tensors that are not on the host, and
/// for what would take very long.
[[nodiscard]] std::optional<at::Tensor> transform_by_loops(std::string_view name,
                                                           const c10::FunctionSchema& schema,
                                                           const torch::jit::Stack& stack,
                                                           int order);

}  // namespace ouroboros::judge
