#pragma once

#include "referee/stages.hpp"

namespace ouroboros::referee::device {

/// Judges cases in Triton's interpreter, all in one sandboxed process: what it computes is right
/// where the kernel is, and says nothing of how fast it is or of what it would touch on a GPU.
[[nodiscard]] SweepOutcome interpret_cases(const Problem& problem, const Candidate& candidate,
                                           const CasePool& pool, const Options& options);

}  // namespace ouroboros::referee::device
