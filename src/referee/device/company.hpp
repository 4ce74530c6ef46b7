#pragma once

#include <functional>

#include "referee/device/gpu_lock.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee::device {

/// What `sweep` finds beside others that use the GPU; and what it finds alone, where these may have
/// caused a failure, by the memory or the time that they took.
[[nodiscard]] SweepOutcome beside_others(const std::function<SweepOutcome(GpuUse)>& sweep);

}  // namespace ouroboros::referee::device
