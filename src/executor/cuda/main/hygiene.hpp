#pragma once

#include <cstdint>
#include <string>

#include "executor/cuda/main/device.hpp"

namespace ouroboros::cuda {

/// Enqueues `word` for all the shared memory there is and nearly all registers, so that no launch
/// finds another's there.
void fill_on_chip(const Device& device, std::uint32_t word);

/// What stands between two candidates in one process, after modules and memory of the first are
/// gone: shared memory, registers and the L2 cache are overwritten, and a kernel whose result is
/// known is run. Returns what was wrong with the device, or nothing. Throws `DriverError` and
/// `KernelHangs`.
std::string clean(Device& device);

}  // namespace ouroboros::cuda
