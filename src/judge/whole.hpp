#pragma once

#include "judge/judge.hpp"

/// How wrong whole numbers may be that come of real ones: a rounding to the nearest, a comparison.
namespace ouroboros::judge {

/// Sets the allowed error of the outputs that are integers, and their ranks. Nothing is allowed but
/// where the call is close: where inputs that are moved a little, or the reference in its own
/// precision, have another number. docs/tolerance.md says more.
void allow_close_calls(const Problem& problem, Case& one);

}  // namespace ouroboros::judge
