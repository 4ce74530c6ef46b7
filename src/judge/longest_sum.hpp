#pragma once

#include <cstdint>

#include "judge/judge.hpp"

namespace ouroboros::judge {

/// Of how many terms a sum in a problem may be: the longest extent of an input, and 1 where nothing
/// is summed. For a case that has its inputs and its oracle.
[[nodiscard]] std::int64_t longest_sum(const Problem& problem, const Case& one);

}  // namespace ouroboros::judge
