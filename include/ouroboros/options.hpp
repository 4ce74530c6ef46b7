#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ouroboros/api.hpp"
#include "ouroboros/cache.hpp"
#include "ouroboros/dtype.hpp"
#include "ouroboros/limits.hpp"
#include "ouroboros/timing.hpp"

namespace ouroboros {

class Tracer;

/// How far to judge.
enum class Stage : std::uint8_t {
  compile,  ///< Compile and inspect only.
  sweep,    ///< And correctness.
  time,     ///< And time against the baselines.
  gate,     ///< And the stability gate over fresh processes.
};

/// Where GPU candidates are compiled for and run.
struct DeviceOptions {
  int ordinal = 0;     ///< Of the GPU, as CUDA counts them.
  std::string target;  ///< Architecture to compile for, e.g. "sm_90"; empty: the GPU's own.
  /// Runs the host code of Triton candidates; without one they cannot be judged. Referees may
  /// share.
  std::shared_ptr<Tracer> tracer;
  /// Runs host code that needs a GPU, on one (`TracerOptions::gpu`): that of "python" candidates,
  /// and of Triton candidates that `tracer` cannot follow. Referees may share.
  std::shared_ptr<Tracer> live_tracer;
  std::vector<std::filesystem::path> libraries;  ///< Folders to look for NVRTC in first.
};

/// How a referee works. The defaults suit a reward function on one machine.
struct Options {
  Stage until = Stage::time;
  Limits limits;
  std::vector<DType> dtypes;          ///< Empty: those of the problem that the candidate exports.
  std::optional<std::uint64_t> seed;  ///< Empty: secret, from the system; revealed in the verdict.
  timing::Mode mode = timing::Mode::decide;
  timing::Plan timing;
  Cache cache = Cache::cold;  ///< On a GPU. The others say how sensitive a kernel is.
  timing::GateRule gate;
  DeviceOptions device;
  std::filesystem::path scratch;    ///< Parent of scratch folders; empty: the system's.
  std::filesystem::path traces;     ///< Where timed cells and gates leave blocks; empty: nowhere.
  std::string compiler;             ///< C++ compiler; empty: $CXX, then c++, g++, clang++.
  std::function<bool()> cancelled;  ///< Asked often; true ends the call with Error{cancelled}.
  std::function<void(std::string_view)>
      log;  ///< Diagnostics, one line a call; the library never prints.
};

}  // namespace ouroboros
