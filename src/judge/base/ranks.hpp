#pragma once

#include <limits>

#include "judge/judge.hpp"

/// Places of numbers in an order that PyTorch leaves open among equal ones (`topk`, `sort`), or of
/// the first of them (`argmax`).
namespace ouroboros::judge {

/// Numbers below this are as good as zero to whoever compares in float32 or float64. A softmax has
/// many.
[[nodiscard]] constexpr double least_ranked(bool single) noexcept {
  return single ? double{std::numeric_limits<float>::min()} : std::numeric_limits<double>::min();
}

/// The ranks that `output`, of the oracle, gives the places of, or of some in a row; empty where it
/// gives none of these, or none has an equal.
[[nodiscard]] Ranks ranks_of(const at::Tensor& output, const std::vector<Ranks>& found);

/// From now on numbers that were computed may be off by `near`, relative: those that are no further
/// apart are equal.
void take_near_for_equal(Ranks& ranks, double near, bool single);

/// `got` with the oracle's place wherever it has another one of an equal number, in rows that have
/// no place twice.
[[nodiscard]] at::Tensor without_ties(const at::Tensor& got, const Ranks& ranks);

}  // namespace ouroboros::judge
