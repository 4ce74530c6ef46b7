#pragma once

#include <cstdint>

#include "judge/judge.hpp"

namespace ouroboros::judge {

/// Of how many terms a sum in a problem may be: the longest extent of an input, or what the oracle
/// was seen to add up at once (`Inside::most_terms`) where that is more, but no more than anybody
/// adds one after the other; 1 where nothing is summed.
/// For a case that has its inputs and its oracle.
[[nodiscard]] std::int64_t longest_sum(const Problem& problem, const Case& one,
                                       std::int64_t most_terms);

}  // namespace ouroboros::judge
