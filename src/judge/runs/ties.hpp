#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <string_view>

#include "judge/judge.hpp"
#include "judge/runs/inside.hpp"
#include "judge/runs/operation.hpp"
#include "judge/runs/pass.hpp"

/// Orders of equal numbers, which PyTorch leaves open or not: which others may make, and what tells
/// them.
namespace ouroboros::judge {

/// Whether the operator puts numbers in order and says nothing of equal ones. `argmax`, and `max`
/// of a dimension, promise the first.
[[nodiscard]] bool leaves_ties_open(std::string_view name, const c10::FunctionSchema& schema,
                                    const torch::jit::Stack& stack);

/// An operator that puts numbers in order, or says where one of them lies, in a run that asks for
/// that.
class Ordering {
 public:
  /// Before the operator is called, or anything takes the place of what it is given.
  Ordering(const Pass& pass, const Operation& operation);

  /// Breaks ties by their place along any dimension. Of numbers that were `chosen` from given ones
  /// none but those that are equal are any.
  void break_ties(bool chosen);

  /// What the order came to.
  void note() const;

 private:
  const Inside& inside_;
  const Operation& operation_;
  bool open_ = false;  ///< PyTorch says nothing of equal ones.
  /// Of equal ones the first is the answer. Of numbers that nobody computes there is no doubt.
  bool first_ = false;
  bool exact_ = false;
  at::Tensor numbers_;  ///< Undefined where there is nothing to do.
  std::int64_t dim_ = -1;
};

/// Nobody tells an input's numbers apart from what they become. Zeros and ones alone are a mask, of
/// which a zero that is nearly one means something else.
[[nodiscard]] at::Tensor favoured_input(const Inside& inside, const at::Tensor& input);

/// What an operator computes, and neither passes on nor writes to. Whole numbers are exact, and may
/// be a mask, but not where they are what exponentials underflow or saturate to.
void favour_results(const Inside& inside, const Operation& operation);

}  // namespace ouroboros::judge
