#pragma once

#include "referee/device/plan_source.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee::device {

/// One plan on one case, by their places.
struct Interpretation {
  std::size_t which = 0;    ///< Of the cases.
  std::size_t variant = 0;  ///< Of the case's plans.
};

/// Which plans meet which cases: each case one, and all of them a case that is small. An
/// interpreter is too slow for all on all. Which meets which follows from the cases' seeds, and
/// plans meet equally many cases, as far as these have equally many plans.
[[nodiscard]] std::vector<Interpretation> interpretations(const CasePool& pool,
                                                          const std::vector<Planned>& planned);

/// Judges plans in Triton's interpreter, all in one sandboxed process that runs no host code: what
/// it computes is right where the kernels' sources are, and says nothing of how fast they are or
/// of what they would touch on a GPU. One result for each of `which`, in order.
[[nodiscard]] SweepOutcome interpret_cases(const Problem& problem, const Candidate& candidate,
                                           const CasePool& pool,
                                           const std::vector<Planned>& planned,
                                           const std::vector<Interpretation>& which,
                                           const Options& options);

}  // namespace ouroboros::referee::device
