#pragma once

#include <vector>

#include "judge/judge.hpp"

namespace ouroboros::judge {

/// What roundings on the way do to each output.
struct Roundings {
  std::vector<Tensors> results;  ///< The true values with the errors of each try.
  Tensors largest;               ///< The largest such error of each element; undefined without any.
};

/// The errors of the oracle with the factors of its products rounded, as tensor cores want them;
/// and of a reference that rounds on its way, on inputs next to those of the case. One run says too
/// little of what such roundings may do to an element.
[[nodiscard]] Roundings roundings_on_the_way(const Problem& problem, const Case& one);

}  // namespace ouroboros::judge
