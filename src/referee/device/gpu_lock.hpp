#pragma once

#include "ouroboros/options.hpp"
#include "sandbox/descriptor.hpp"

namespace ouroboros::referee::device {

enum class GpuUse {
  time,    ///< Nobody else uses the GPU meanwhile.
  replay,  ///< Nobody else replays, whose tensors might not fit beside these, or times.
  trace,   ///< Nobody times.
};

/// What keeps a GPU for a use.
struct GpuLock {
  sandbox::Descriptor gpu;
  sandbox::Descriptor replays;  ///< Of who replays.

  explicit operator bool() const noexcept { return static_cast<bool>(gpu); }
};

/// Waits for one GPU, of which all referees of this machine share some lock files: who waits to
/// time lets nobody in who came later. What is returned is empty where the files cannot be used.
/// Throws `Error{cancelled}`.
[[nodiscard]] GpuLock lock_gpu(const Options& options, GpuUse use);

}  // namespace ouroboros::referee::device
