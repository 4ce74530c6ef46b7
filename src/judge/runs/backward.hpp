#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string_view>

/// What autograd's own operators take from one another, as a reference that differentiates calls
/// them. `name` is the operator's; its arguments end the stack.
namespace ouroboros::judge {

/// Of the backward pass of an activation with a tanh in it, which others make of exponentials and
/// then know to a rounding of one: what such a rounding comes to. GELU's form with a tanh has
/// 1 - tanh^2 times x and the inner derivative there, 0.8 + 0.107 x^2 (Hendrycks and Gimpel,
/// "Gaussian error linear units", 2016); with an error function there is nothing but that. Empty
/// for all others.
[[nodiscard]] std::optional<at::Tensor> size_of_activation_backward(
    std::string_view name, const c10::FunctionSchema& schema, const torch::jit::Stack& stack);

/// Of the gradient of what a normalisation was given, its operator's first result: the largest of
/// the terms that it is the difference of. Over one column nothing is left of them. Empty for all
/// others.
[[nodiscard]] std::optional<at::Tensor> size_of_difference_backward(
    std::string_view name, const c10::FunctionSchema& schema, const torch::jit::Stack& stack);

}  // namespace ouroboros::judge
