#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <optional>
#include <span>
#include <string_view>

#include "judge/runs/inside.hpp"
#include "judge/runs/pass.hpp"

/// What an operator returned, as others may compute it.
namespace ouroboros::judge {

/// Of the result of an operator, how large the numbers are that it is the difference of; empty for
/// one that is no such difference.
[[nodiscard]] std::optional<at::Tensor> size_of_terms(const Inside& inside, std::string_view name,
                                                      const c10::FunctionSchema& schema,
                                                      const torch::jit::Stack& stack);

/// Moves by `size`, of which one number may stand for many of the result's, that then move alike.
/// Autograd, which may have kept the result for a reference's own backward pass, does not see it.
void move_result(Pass& pass, const at::Tensor& result, const at::Tensor& size);

/// Whether others may compute the operator's result otherwise, by more than moves of the inputs
/// show: exponentials near one, as of a decay, and what is made of `constants` alone, which do not
/// move: a table of frequencies, a window.
[[nodiscard]] bool is_inexact(std::string_view name, bool constants);

/// Whether it is a power by a broken constant, no root: who has no function of powers writes
/// `exp2(1.5 log2 x)`, and rounds the exponent.
[[nodiscard]] bool is_broken_power(std::string_view name, std::span<const c10::IValue> given);

/// By some roundings of itself; of a power also by as many of its exponent, which `exp2` is given
/// after a product that rounds. What has few bits is the same in any arithmetic; of powers those of
/// two alone: 10 is no `exp(log(1e4) / 4)`.
void move_inexact(Pass& pass, const at::Tensor& result, bool power);

/// Of probabilities, or of their logarithms.
void move_logarithm(Pass& pass, std::string_view name, const at::Tensor& result,
                    const at::Tensor& size);

/// Probabilities that moved are some still, and are asked for that by losses.
void keep_in_range(std::string_view name, const at::Tensor& result);

/// Masks that moved are targets still, and losses ask for these to be probabilities.
void keep_targets_in_range(std::string_view name, c10::IValue* arguments);

}  // namespace ouroboros::judge
