#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string_view>

#include "judge/runs/pass.hpp"

/// Operators whose answer jumps, while inputs move: they are asked about what was given.
namespace ouroboros::judge {

/// What has edges is told how its arguments were given, if nobody computes them. The same arguments
/// of what chooses among them, whose results nobody computes either.
[[nodiscard]] std::optional<torch::jit::Stack> keep_unmoved(Pass& pass, std::string_view name,
                                                            const c10::FunctionSchema& schema,
                                                            torch::jit::Stack& stack);

/// What is cut off where it jumps: a number that is the threshold is not moved past it.
[[nodiscard]] at::Tensor left_as_given(const at::Tensor& moved, const at::Tensor& given,
                                       const at::Tensor& cut);

/// Where a number lies among given ones does not move with them.
void keep_places(torch::jit::Stack& stack, const torch::jit::Stack& as_given);

}  // namespace ouroboros::judge
