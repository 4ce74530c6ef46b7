#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ouroboros/referee.hpp"
#include "referee/device/plan_source.hpp"

namespace ouroboros::referee::device {

/// Makes the plans of a candidate, for shapes that `problem` times, when they are wanted.
[[nodiscard]] std::function<std::vector<LaunchPlan>(const std::vector<PlanBuffer>&)> variants_of(
    const Problem& problem, std::shared_ptr<const Compiled> compiled, const Options& options);

/// The plans of a baseline as those of a candidate.
[[nodiscard]] std::shared_ptr<PlanSource> source_of(const Baseline& baseline);

}  // namespace ouroboros::referee::device
