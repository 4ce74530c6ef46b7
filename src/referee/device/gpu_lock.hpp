#pragma once

#include "ouroboros/options.hpp"
#include "sandbox/descriptor.hpp"

namespace ouroboros::referee::device {

enum class GpuUse {
  alone,   ///< Nobody else uses the GPU meanwhile.
  shared,  ///< Others may share it, and nobody has it alone.
};

/// Waits for one GPU, of which all referees of this machine share two lock files: who waits to have
/// it alone lets nobody else in who came later. What is returned keeps it; it is empty where the
/// files cannot be used. Throws `Error{cancelled}`.
[[nodiscard]] sandbox::Descriptor lock_gpu(const Options& options, GpuUse use);

}  // namespace ouroboros::referee::device
