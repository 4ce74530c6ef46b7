#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ouroboros/api.hpp"

namespace ouroboros {

/// What NVML says of a GPU at one moment: how fast it may run, and what holds it back. Numbers that
/// are not known are 0. Clocks are those of the moment: a GPU that waits soon lowers them.
struct GpuState {
  int sm_clock_mhz = 0;
  int sm_clock_max_mhz = 0;  ///< The most that the GPU can, whatever holds it back now.
  int memory_clock_mhz = 0;
  double power_w = 0;
  double power_limit_w = 0;  ///< The one in force.
  int temperature_c = 0;
  /// Why the clocks are lower than they could be: "sw_power_cap", "hw_slowdown", "sync_boost",
  /// "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake". Idleness and the clocks that
  /// somebody asked for are none.
  std::vector<std::string> slowdowns;
  /// Whether the applications clocks, or with some drivers a lock, are what limits the clock now.
  /// False does not mean that there is no such setting: an idle GPU, one that another cause slows,
  /// and one whose setting is the highest clock do not show it. True does not mean that the clock
  /// is constant: it is the most, and a slowdown goes below. Some GPUs come with such a setting.
  bool clocks_locked = false;
  /// Processes with a compute context on the GPU besides this one and the library's helpers. At
  /// least so many: those of other containers are not seen.
  int other_processes = 0;
  /// For how much of the time since the same process was asked before (or of the last second) those
  /// computed, but for the first quarter of a second: the driver's samples lag by 0.2 s.
  int other_busy_percent = 0;
  /// Whether the GPU is partitioned (MIG) or shared by MPS. Clocks and power are the whole GPU's
  /// then. False where it is not known.
  bool shared = false;
  /// For how long power or heat have held the clocks down, since the driver started. The
  /// difference of two states says whether they did in between.
  std::int64_t power_violation_ns = 0;
  std::int64_t thermal_violation_ns = 0;
  std::string reason;  ///< Why something is not known, in one sentence; empty when all is.
};

/// Makes `GpuState::other_processes` leave out a process of this program's, and what it started; or
/// no more.
OUROBOROS_API void own_process(std::int64_t pid, bool own);

}  // namespace ouroboros
