#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

#include "judge/judge.hpp"

/// Choices in several stages: of groups, and of members of these. Where groups are as good as equal
/// another one may have been chosen, and then its members are right, which the oracle never ranked.
namespace ouroboros::judge {

/// `got`, places of output `k` that `one.ranks` knows, with the oracle's wherever the reference
/// itself gives a row's places if all that is computed of the numbers there is a little larger, or
/// a little smaller: by less than it may be off. The whole row has to be so.
[[nodiscard]] at::Tensor without_near_choices(const Problem& problem, const Case& one,
                                              std::size_t k, const at::Tensor& got);

}  // namespace ouroboros::judge
