#pragma once

#include <nlohmann/json.hpp>

#include "ouroboros/calibration.hpp"

namespace ouroboros {
struct CudaDevice;
}

namespace ouroboros::cuda {

/// What the raw samples of an executor's calibration say.
[[nodiscard]] Calibration calibration_from(const nlohmann::json& measured,
                                           const CudaDevice& device);

}  // namespace ouroboros::cuda
