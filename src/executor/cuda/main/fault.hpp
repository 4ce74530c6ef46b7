#pragma once

#include <string>

#include "executor/cuda/main/device.hpp"
#include "ouroboros/executor.hpp"

namespace ouroboros::cuda {

/// What a failed launch means for the candidate. Throws `Error` where it is the machine's fault:
/// another program has taken the memory, the device is broken or gone.
Replay judge_failure(const Device& device, const DriverError& failure, const std::string& launch);

}  // namespace ouroboros::cuda
