#pragma once

#include "judge/judge.hpp"
#include "judge/observed/mark_notes.hpp"

namespace ouroboros::judge {

/// What a reference asks of its inputs, seen in one run of a small case. Nothing where it cannot be
/// run.
[[nodiscard]] OUROBOROS_API Marks marks_of(const Problem& problem, DType dtype);

}  // namespace ouroboros::judge
