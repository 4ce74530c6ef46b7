#pragma once

#include <memory>

#include "ouroboros/referee.hpp"
#include "referee/device/plan_source.hpp"

namespace ouroboros::referee::device {

/// A candidate as something to be measured against, on the shapes that `problem` times. It is
/// compiled, traced and audited now; the plans are made when they are wanted.
[[nodiscard]] Baseline baseline_of(const Problem& problem, const Candidate& candidate,
                                   const std::string& name, const Options& options);

/// The plans of a baseline as those of a candidate.
[[nodiscard]] std::shared_ptr<PlanSource> source_of(const Baseline& baseline);

}  // namespace ouroboros::referee::device
