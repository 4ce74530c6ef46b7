#pragma once

#include <limits>

#include "judge/judge.hpp"

/// Places of numbers in an order that PyTorch leaves open among equal ones: `topk`, `sort`.
namespace ouroboros::judge {

/// Numbers below this are as good as zero where such are equal that differ by `near`: a float32
/// loses them. A softmax has many.
[[nodiscard]] constexpr double least_ranked(double near) noexcept {
  return (near < 0.0 ? -near : near) < 0x1p-30 ? std::numeric_limits<double>::min()
                                               : double{std::numeric_limits<float>::min()};
}

/// The ranks that `output`, of the oracle, gives the places of, or the first of them; empty where
/// it gives none of these, or none has an equal. Equal is what differs by `near`, relative, at
/// most, and what is below `least_ranked`.
[[nodiscard]] Ranks ranks_of(const at::Tensor& output, const std::vector<Ranks>& found,
                             double near);

/// `got` with the oracle's place wherever it has another one of an equal number, in rows that have
/// no place twice.
[[nodiscard]] at::Tensor without_ties(const at::Tensor& got, const Ranks& ranks);

}  // namespace ouroboros::judge
