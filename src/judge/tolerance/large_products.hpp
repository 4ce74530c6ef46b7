#pragma once

#include "judge/judge.hpp"

namespace ouroboros::judge {

/// Whether products of this size, in float32, are off by so much that what is made of them does not
/// follow in proportion.
[[nodiscard]] bool is_large_product(double size) noexcept;

/// The largest error of each element of each output where the inputs are off by some roundings of
/// float32. Of a softmax whose scores are near 2^24, each off by ones, another one wins: effects of
/// smaller moves of the inputs say nothing of that.
[[nodiscard]] Tensors errors_of_large_products(const Problem& problem, const Case& one);

}  // namespace ouroboros::judge
