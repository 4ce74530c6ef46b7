#pragma once

#include "judge/judge.hpp"

namespace ouroboros::judge {

/// Whether output number `output` of a case copies or chooses. Whatever does makes the same of any
/// inputs: `moved` is the oracle of `moved_inputs`, in which no two numbers are alike.
[[nodiscard]] Copies copies_of(const Case& one, std::size_t output, const at::Tensor& moved,
                               const Tensors& moved_inputs);

}  // namespace ouroboros::judge
