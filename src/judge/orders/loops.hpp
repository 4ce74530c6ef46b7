#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string_view>
#include <vector>

/// What operators that add numbers up make where a plain loop does it, one term after the other, in
/// the precision of the terms. LibTorch adds pairwise, which loses less; a loop is as honest.
namespace ouroboros::judge {

/// The results of an operator whose arguments end `stack`, with its sums in the order `order`
/// (from 0, below `orders`); empty where this does not know how the operator adds, or not on such
/// tensors. Running sums begin at the front in any case, and differ in the
/// length of the blocks that they are made of.
[[nodiscard]] std::optional<std::vector<at::Tensor>> by_loop(std::string_view name,
                                                             const c10::FunctionSchema& schema,
                                                             const torch::jit::Stack& stack,
                                                             int order);

/// Whether the operator is known to add nothing up but integers: each number that it returns comes
/// of one number of each argument, or is chosen from the arguments' numbers.
[[nodiscard]] bool adds_nothing(std::string_view name, const c10::OperatorHandle& op,
                                const torch::jit::Stack& stack);

}  // namespace ouroboros::judge
