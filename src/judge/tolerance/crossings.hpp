#pragma once

#include "judge/judge.hpp"

/// Results that are cut off at zero, as a ReLU does it. A small move says nothing of a sum that is
/// just below, and who rounds otherwise may be just above.
namespace ouroboros::judge {

/// Whether what is zero is not where the inputs move far.
[[nodiscard]] bool may_cross(const Problem& problem, const Case& one);

/// Allows each such element to be as large as it becomes where the inputs are off by what sums of
/// `one.crossing_terms` terms may be off by: nothing more, where that leaves it zero.
void allow_crossings(const Problem& problem, Case& one);

}  // namespace ouroboros::judge
