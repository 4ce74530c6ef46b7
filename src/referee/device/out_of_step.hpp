#pragma once

#include <optional>
#include <vector>

#include "ouroboros/cuda_executor.hpp"
#include "referee/device/plan_source.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee::device {

/// Whether plans that were right, as `plans[i]` was in `cases[i]`, are right as well where warps
/// sleep now and then: on their staggered images. Nothing where they are, where `source` has no
/// such images, or where these do not run to their end.
[[nodiscard]] std::optional<Finding> find_race(const Problem& problem,
                                               const std::vector<judge::Case>& cases,
                                               const std::vector<LaunchPlan>& plans,
                                               PlanSource& source, CudaExecutor& executor,
                                               const Options& options);

}  // namespace ouroboros::referee::device
