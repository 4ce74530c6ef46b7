#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <string_view>

#include "judge/judge.hpp"
#include "judge/runs/inside.hpp"

/// Orders of equal numbers, which PyTorch leaves open or not: which others may make, and what tells
/// them.
namespace ouroboros::judge {

/// Whether the operator puts numbers in order and says nothing of equal ones. `argmax`, and `max`
/// of a dimension, promise the first.
[[nodiscard]] bool leaves_ties_open(std::string_view name, const c10::FunctionSchema& schema,
                                    const torch::jit::Stack& stack);

/// Whether the operator says where one number lies, and which of equal ones that is.
[[nodiscard]] bool promises_first(std::string_view name, const c10::FunctionSchema& schema);

/// The dimension that an operator orders along; -1 where it has none.
[[nodiscard]] std::int64_t ordered_along(const c10::FunctionSchema& schema,
                                         const torch::jit::Stack& stack, std::int64_t dims);

/// Breaks ties by their place along any dimension. Of numbers that were `given` none but those that
/// are equal are any.
void break_ties(const Inside& inside, c10::IValue& value, bool given);

/// Ties were broken for the order's sake alone: numbers that were put in order are what they were.
void put_in_order(const at::Tensor& numbers, std::int64_t dim, torch::jit::Stack& stack);

void note_ranks(const Inside& inside, const at::Tensor& numbers, const c10::IValue& result,
                std::int64_t dim, bool given, bool first);

/// Nobody tells an input's numbers apart from what they become. Zeros and ones alone are a mask, of
/// which a zero that is nearly one means something else.
[[nodiscard]] at::Tensor favoured_input(const Inside& inside, const at::Tensor& input);

/// What an operator computes, and neither passes on nor writes to. Whole numbers are exact, and may
/// be a mask, but not where they are what exponentials underflow or saturate to.
void favour_results(const Inside& inside, std::string_view name, const c10::FunctionSchema& schema,
                    torch::jit::Stack& stack);

}  // namespace ouroboros::judge
