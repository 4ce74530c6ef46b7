#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string_view>

namespace ouroboros::judge {

/// Small constants are often written as 1 - c (the rate of a moving average, say), which float32
/// knows to 2^-25 only, whatever is left. Where an operator multiplies by such a constant: how
/// large what it multiplies is, in units in which a move of the result by 2^-30, times thirty-two
/// roundings of float32, is that loss. Empty for all others. `name` is the operator's, its
/// arguments end the stack.
[[nodiscard]] std::optional<at::Tensor> size_of_complement(std::string_view name,
                                                           const c10::FunctionSchema& schema,
                                                           const torch::jit::Stack& stack);

}  // namespace ouroboros::judge
