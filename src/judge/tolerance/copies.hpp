#pragma once

#include "judge/judge.hpp"

namespace ouroboros::judge {

/// Whether output number `output` of a case is its oracle to the bit: what had to be rounded was
/// computed, which is so of nearly all.
[[nodiscard]] bool may_copy(const Case& one, std::size_t output);

/// Whether an output that may copy or choose does. Whatever does so makes the same of any inputs:
/// `moved` is the oracle of `moved_inputs`, in which no two numbers are alike.
[[nodiscard]] Copies copies_of(const Case& one, std::size_t output, const at::Tensor& moved,
                               const Tensors& moved_inputs);

}  // namespace ouroboros::judge
