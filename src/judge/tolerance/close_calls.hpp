#pragma once

#include <vector>

#include "judge/judge.hpp"

/// How wrong results may be that hang on a close call: a rounding to the nearest, a comparison.
namespace ouroboros::judge {

/// Sets the allowed error of the outputs that are integers, and their ranks. Nothing is allowed but
/// where the call is close: where inputs that are moved a little, or the reference in its own
/// precision or with plain `loops` for its sums, have another number. Where the case's reference
/// has edges, real outputs are allowed what they jump by with such a move, or in such a loop.
/// docs/tolerance.md says more.
void allow_close_calls(const Problem& problem, Case& one, const std::vector<Tensors>& loops);

}  // namespace ouroboros::judge
