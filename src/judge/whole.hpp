#pragma once

#include "judge/judge.hpp"

/// How wrong whole numbers may be that come of real ones: a rounding to the nearest, a comparison.
namespace ouroboros::judge {

/// The allowed error of each element of the outputs that are integers, in float64; undefined for
/// the others. Nothing is allowed but where the call is close: where inputs that are moved a
/// little, or the reference in its own precision, have another number. docs/tolerance.md says more.
[[nodiscard]] Tensors allowed_for_integers(const Problem& problem, const Case& one);

}  // namespace ouroboros::judge
