#pragma once

#include <cstdint>

#include "judge/judge.hpp"

namespace ouroboros::judge {

/// Of how many terms a sum in a problem may be, but no more than anybody adds one after the other;
/// 1 where nothing is summed: the longest extent of an input, or what the oracle was seen to add up
/// at once (`Inside::most_terms`) where that is more. On a GPU, where all cases are large and most
/// extents have nothing to do with sums, what operators that add were given
/// (`Inside::longest_added`), unless the oracle is the problem's own, which nobody looks into.
/// For a case that has its inputs and its oracle.
[[nodiscard]] std::int64_t longest_sum(const Problem& problem, const Case& one,
                                       std::int64_t most_terms, std::int64_t longest_added);

}  // namespace ouroboros::judge
