#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ouroboros/gpu_state.hpp"

/// The NVIDIA management library, loaded at run time: the functions that tell a GPU's state, and
/// the few types that they need. As with the driver, nothing here comes from the toolkit.
namespace ouroboros::cuda {

using NvmlDevice = struct NvmlDeviceTag*;

struct NvmlProcess {
  unsigned pid = 0;
  std::uint64_t used_bytes = 0;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};
static_assert(sizeof(NvmlProcess) == 24);

/// What a process made of a stretch of time, each in percent.
struct NvmlUtilization {
  unsigned pid = 0;
  std::uint64_t time_us = 0;
  unsigned sm = 0;
  unsigned memory = 0;
  unsigned encoder = 0;
  unsigned decoder = 0;
};
static_assert(sizeof(NvmlUtilization) == 32);

struct NvmlViolation {
  std::uint64_t reference_us = 0;
  std::uint64_t violation_ns = 0;
};

// nvmlReturn_t.
inline constexpr int nvml_success = 0;
inline constexpr int nvml_not_found = 6;
inline constexpr int nvml_insufficient_size = 7;

// nvmlClockType_t.
inline constexpr int nvml_clock_sm = 1;
inline constexpr int nvml_clock_memory = 2;

// nvmlPerfPolicyType_t.
inline constexpr int nvml_policy_power = 0;
inline constexpr int nvml_policy_thermal = 1;

/// nvmlTemperatureSensors_t.
inline constexpr int nvml_temperature_gpu = 0;

/// What holds clocks down, as bits. Idleness (1) and the display (0x100) are of no interest here.
inline constexpr std::uint64_t nvml_applications_clocks = 0x2;
inline constexpr struct {
  std::uint64_t bit;
  const char* name;
} nvml_slowdowns[] = {{0x4, "sw_power_cap"},         {0x8, "hw_slowdown"},
                      {0x10, "sync_boost"},          {0x20, "sw_thermal_slowdown"},
                      {0x40, "hw_thermal_slowdown"}, {0x80, "hw_power_brake"}};

// Field, symbol, parameters. All return an nvmlReturn_t. Drivers before 535 know the event reasons
// as throttle reasons.
#define OUROBOROS_NVML(X)                                                                          \
  X(init, nvmlInit_v2, ())                                                                         \
  X(by_uuid, nvmlDeviceGetHandleByUUID, (const char* uuid, NvmlDevice* device))                    \
  X(parent, nvmlDeviceGetDeviceHandleFromMigDeviceHandle, (NvmlDevice part, NvmlDevice * device))  \
  X(mig_mode, nvmlDeviceGetMigMode, (NvmlDevice device, unsigned* current, unsigned* pending))     \
  X(clock, nvmlDeviceGetClockInfo, (NvmlDevice device, int type, unsigned* mhz))                   \
  X(max_clock, nvmlDeviceGetMaxClockInfo, (NvmlDevice device, int type, unsigned* mhz))            \
  X(power, nvmlDeviceGetPowerUsage, (NvmlDevice device, unsigned* milliwatts))                     \
  X(power_limit, nvmlDeviceGetEnforcedPowerLimit, (NvmlDevice device, unsigned* milliwatts))       \
  X(temperature, nvmlDeviceGetTemperature, (NvmlDevice device, int sensor, unsigned* celsius))     \
  X(event_reasons, nvmlDeviceGetCurrentClocksEventReasons,                                         \
    (NvmlDevice device, std::uint64_t* bits))                                                      \
  X(throttle_reasons, nvmlDeviceGetCurrentClocksThrottleReasons,                                   \
    (NvmlDevice device, std::uint64_t* bits))                                                      \
  X(violation, nvmlDeviceGetViolationStatus, (NvmlDevice device, int policy, NvmlViolation* time)) \
  X(processes, nvmlDeviceGetComputeRunningProcesses_v3,                                            \
    (NvmlDevice device, unsigned* count, NvmlProcess* list))                                       \
  X(mps_processes, nvmlDeviceGetMPSComputeRunningProcesses_v3,                                     \
    (NvmlDevice device, unsigned* count, NvmlProcess* list))                                       \
  X(utilization, nvmlDeviceGetProcessUtilization,                                                  \
    (NvmlDevice device, NvmlUtilization * list, unsigned* count, std::uint64_t since_us))

/// The library's processes: none of them, nor what they started, is another's.
struct OwnProcesses {
  pid_t referee = 0;
  std::vector<pid_t> helpers;
};

/// One GPU's view of NVML. Whatever is missing or fails ends up in a state's `reason`.
class Nvml {
 public:
  /// `uuid`: the device's, as the driver has it. Loads nothing yet.
  explicit Nvml(std::string uuid) : uuid_(std::move(uuid)) {}

  /// The first call loads $OUROBOROS_LIBNVML, else libnvidia-ml.so.1, and initialises it.
  GpuState state(const OwnProcesses& own);

 private:
  class Reading;

  void start();
  [[nodiscard]] std::string describe(int status) const;

#define OUROBOROS_FIELD(field, symbol, parameters) int(*field##_) parameters = nullptr;
  OUROBOROS_NVML(OUROBOROS_FIELD)
#undef OUROBOROS_FIELD
  const char* (*error_string_)(int status) = nullptr;

  std::string uuid_;
  bool started_ = false;
  std::string problem_;  ///< Why there is nothing to ask.
  NvmlDevice device_ = nullptr;
  bool partition_ = false;
  std::uint64_t since_us_ = 0;  ///< From when on the next state says who has computed.
};

}  // namespace ouroboros::cuda
