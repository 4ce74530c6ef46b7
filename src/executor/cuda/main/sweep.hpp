#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "executor/cuda/main/hindrance.hpp"
#include "executor/cuda/main/memory.hpp"
#include "executor/cuda/main/program.hpp"
#include "ouroboros/executor.hpp"
#include "sandbox/descriptor.hpp"

namespace ouroboros::cuda {

/// Calls of an arena, each with the plan that computes it: every replay is one run of one plan on
/// fresh copies of the arena's pages.
class Sweep {
 public:
  struct Call {
    std::vector<ArenaBuffer> buffers;
    LaunchPlan plan;
  };

  /// Throws `LoadFailure`.
  Sweep(Device& device, Hindrance& hindrance, sandbox::Descriptor arena, std::vector<Call> calls);

  /// One run, with the launches of `without` left out. At the high end of their pages the launches
  /// run beside a hindrance.
  Replay replay(std::size_t call, bool high, double seconds,
                const std::vector<std::size_t>& without);

 private:
  /// Runs the launches one after another, so that a fault names its launch.
  Replay run(const Program& program, double seconds, const std::vector<std::size_t>& without,
             bool hindered);

  Device& device_;
  Hindrance& hindrance_;
  sandbox::Descriptor arena_;
  Modules modules_;
  std::vector<std::vector<ArenaBuffer>> buffers_;
  std::vector<Program> programs_;
  Event start_;
  Event stop_;
};

}  // namespace ouroboros::cuda
