#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <string_view>

#include "ouroboros/problem.hpp"

namespace ouroboros::judge {

/// Whether an operator is an attention, or a layer that has one, whose parts are known:
/// `scaled_dot_product_attention`, and those by which `nn.MultiheadAttention` of one tensor and
/// `nn.TransformerEncoderLayer` are one operator where they are evaluated without gradients.
[[nodiscard]] bool has_attention(std::string_view name, const c10::FunctionSchema& schema,
                                 const torch::jit::Stack& stack);

/// The results of such an operator by its parts: products of matrices, which have factors to round
/// and sums to add up in another order, and a softmax.
[[nodiscard]] Tensors attention_by_parts(std::string_view name, const c10::FunctionSchema& schema,
                                         const torch::jit::Stack& stack);

}  // namespace ouroboros::judge
