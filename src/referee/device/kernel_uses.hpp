#pragma once

#include <vector>

#include "ouroboros/launch_plan.hpp"
#include "ouroboros/verdict.hpp"

namespace ouroboros::referee::device {

/// What the kernels of a plan use, in the order of their first launch.
[[nodiscard]] std::vector<KernelUse> kernels_of(const LaunchPlan& plan);

}  // namespace ouroboros::referee::device
