#pragma once

#include <nlohmann/json.hpp>

#include "executor/cuda/main/device.hpp"

namespace ouroboros::cuda {

/// Measures what this device's clock can resolve and what its memory can do. The result holds raw
/// samples in microseconds: what they say is worked out by who asked (`Calibration`).
[[nodiscard]] nlohmann::json calibrate(Device& device);

}  // namespace ouroboros::cuda
