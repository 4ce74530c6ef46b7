#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string_view>

#include "ouroboros/dtype.hpp"

namespace ouroboros::judge {

/// Four roundings, over the thirty-two that a move of 2^-30 stands for: see Tolerance.
inline constexpr double few_roundings = 0x1p-3;

/// Small constants are often written as 1 - c (the rate of a moving average, say), which float32
/// knows to 2^-25 only, whatever is left, and whoever writes the average as g + b (m - g) loses two
/// roundings of what is multiplied. Where an operator multiplies by such a constant: how large what
/// it multiplies is, in units in which a move of the result by 2^-30, times thirty-two roundings of
/// float32, is that loss. Empty for all others. `name` is the operator's, its arguments end the
/// stack.
[[nodiscard]] std::optional<at::Tensor> size_of_complement(std::string_view name,
                                                           const c10::FunctionSchema& schema,
                                                           const torch::jit::Stack& stack);

/// Four roundings of float32 in the same units; two of float64 for problems in float64, where they
/// grow with what is added up.
[[nodiscard]] double lost_in_differences(DType dtype) noexcept;

/// Where nearly equal numbers are taken from one another, how large these are, of which what
/// computed them has lost some roundings: of `add`, `sub` and `rsub` the larger term, of
/// normalisations by statistics of their input the row. Empty for all others.
[[nodiscard]] std::optional<at::Tensor> size_of_difference(std::string_view name,
                                                           const c10::FunctionSchema& schema,
                                                           const torch::jit::Stack& stack);

/// Who has the logarithm of a sum of exponentials may write a softmax as exp(x - lse), and its
/// logarithm as x - lse; a logarithm to base 2 rounds likewise. That loses what float32 loses of
/// the row's maximum, and a logarithm what it loses of lse. For `softmax` and `log_softmax`: how
/// large that is, in the same units, one number a row. Empty for all others.
[[nodiscard]] std::optional<at::Tensor> size_of_shift(std::string_view name,
                                                      const c10::FunctionSchema& schema,
                                                      const torch::jit::Stack& stack);

}  // namespace ouroboros::judge
