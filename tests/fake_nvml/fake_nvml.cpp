// NVML for machines without it, for the device of the fake CUDA driver. What it says is in a file
// of lines "name value" that the parent of its process may change at any time, since a sandboxed
// executor inherits no environment: /dev/shm/ouroboros-fake-nvml-PID, with the parent's id.

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "executor/cuda/main/nvml.hpp"

using namespace ouroboros::cuda;

#define OUROBOROS_EXPORT(field, symbol, parameters) \
  extern "C" __attribute__((visibility("default"))) int symbol parameters;
#ifndef FAKE_NVML_EMPTY
OUROBOROS_NVML(OUROBOROS_EXPORT)
extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(int status);
#endif

namespace {

// The numbers of nvml.h, written once more: the executor's must not agree with themselves alone.
[[maybe_unused]] constexpr int success = 0;
[[maybe_unused]] constexpr int not_supported = 3;
[[maybe_unused]] constexpr int not_found = 6;
[[maybe_unused]] constexpr int insufficient_size = 7;
[[maybe_unused]] constexpr int clock_sm = 1;
[[maybe_unused]] constexpr int clock_memory = 2;
[[maybe_unused]] constexpr int policy_power = 0;
[[maybe_unused]] constexpr int policy_thermal = 1;
[[maybe_unused]] constexpr int sensor_gpu = 0;

/// All values of a name, in order.
[[maybe_unused]] std::vector<long long> values(const std::string& name) {
  std::vector<long long> found;
  const auto path = "/dev/shm/ouroboros-fake-nvml-" + std::to_string(getppid());
  if (FILE* file = std::fopen(path.c_str(), "r"); file != nullptr) {
    char key[64];
    long long value = 0;
    while (std::fscanf(file, "%63s %lld", key, &value) == 2) {
      if (name == key) {
        found.push_back(value);
      }
    }
    std::fclose(file);
  }
  return found;
}

[[maybe_unused]] long long value(const std::string& name, long long otherwise) {
  const auto found = values(name);
  return found.empty() ? otherwise : found.back();
}

/// Answers a question, unless it shall fail.
template <typename Number>
[[maybe_unused]] int answer(const char* name, long long otherwise, Number* result) {
  if (const auto status = value(std::string("fail_") + name, 0); status != 0) {
    return static_cast<int>(status);
  }
  *result = static_cast<Number>(value(name, otherwise));
  return success;
}

[[maybe_unused]] int list(const std::vector<long long>& ids, unsigned* count, NvmlProcess* result) {
  if (ids.size() > *count) {
    *count = static_cast<unsigned>(ids.size());
    return insufficient_size;
  }
  *count = static_cast<unsigned>(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    result[i] = {static_cast<unsigned>(ids[i]), 1, 0, 0};
  }
  return success;
}

[[maybe_unused]] char whole;
[[maybe_unused]] char partition;

[[maybe_unused]] bool is_whole(NvmlDevice device) {
  return reinterpret_cast<char*>(device) == &whole;
}

}  // namespace

#ifndef FAKE_NVML_EMPTY
int nvmlInit_v2() {
  // Whoever initialises it twice gets another device's numbers.
  static int times = 0;
  if (value("crash", 0) != 0) {
    raise(SIGKILL);
  }
  while (value("hang", 0) != 0) {
    pause();
  }
  return ++times > 1 ? 999 : static_cast<int>(value("fail_init", 0));
}
const char* nvmlErrorString(int status) {
  return status == not_supported ? "Not Supported"
         : status == not_found   ? "Not Found"
                                 : "An error of the fake NVML";
}
int nvmlDeviceGetHandleByUUID(const char* uuid, NvmlDevice* device) {
  const bool mig = value("mig", 0) != 0;
  const std::string known =
      (mig ? "MIG-" : "GPU-") + std::string("abababab-abab-abab-abab-abababababab");
  *device = reinterpret_cast<NvmlDevice>(mig ? &partition : &whole);
  return known == uuid && value("unknown", 0) == 0 ? success : not_found;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(NvmlDevice part, NvmlDevice* device) {
  *device = reinterpret_cast<NvmlDevice>(&whole);
  return is_whole(part) ? not_supported : success;
}
int nvmlDeviceGetMigMode(NvmlDevice, unsigned* current, unsigned* pending) {
  *pending = 0;
  return answer("mig_mode", 0, current);
}
int nvmlDeviceGetClockInfo(NvmlDevice device, int type, unsigned* mhz) {
  return !is_whole(device)      ? not_supported
         : type == clock_sm     ? answer("sm_clock", 1755, mhz)
         : type == clock_memory ? answer("memory_clock", 2619, mhz)
                                : not_supported;
}
int nvmlDeviceGetMaxClockInfo(NvmlDevice, int type, unsigned* mhz) {
  return type == clock_sm ? answer("sm_clock_max", 1980, mhz) : not_supported;
}
int nvmlDeviceGetPowerUsage(NvmlDevice, unsigned* milliwatts) {
  return answer("power", 312500, milliwatts);
}
int nvmlDeviceGetEnforcedPowerLimit(NvmlDevice, unsigned* milliwatts) {
  return answer("power_limit", 700000, milliwatts);
}
int nvmlDeviceGetTemperature(NvmlDevice, int sensor, unsigned* celsius) {
  return sensor == sensor_gpu ? answer("temperature", 41, celsius) : not_supported;
}
#ifndef FAKE_NVML_OLD
int nvmlDeviceGetCurrentClocksEventReasons(NvmlDevice, std::uint64_t* bits) {
  return answer("reasons", 0, bits);
}
int nvmlDeviceGetViolationStatus(NvmlDevice, int policy, NvmlViolation* time) {
  return policy == policy_power     ? answer("power_violation", 5000, &time->violation_ns)
         : policy == policy_thermal ? answer("thermal_violation", 7000, &time->violation_ns)
                                    : not_supported;
}
#endif
// A driver that has both knows them as one; here it shows which was asked.
int nvmlDeviceGetCurrentClocksThrottleReasons(NvmlDevice, std::uint64_t* bits) {
  return answer("old_reasons", 0, bits);
}
int nvmlDeviceGetComputeRunningProcesses_v3(NvmlDevice, unsigned* count, NvmlProcess* result) {
  if (const auto status = value("fail_processes", 0); status != 0) {
    return static_cast<int>(status);
  }
  auto ids = values("process");
  if (value("hidden", 0) == 0) {
    ids.push_back(getpid());
  }
  return list(ids, count, result);
}
int nvmlDeviceGetMPSComputeRunningProcesses_v3(NvmlDevice, unsigned* count, NvmlProcess* result) {
  auto ids = values("mps_process");
  if (value("mps_self", 0) != 0) {
    ids.push_back(getpid());
  }
  return list(ids, count, result);
}
// Whoever has a context has computed, this process all the time, in the sample of that time.
int nvmlDeviceGetProcessUtilization(NvmlDevice, NvmlUtilization* result, unsigned* count,
                                    std::uint64_t since_us) {
  if (const auto status = value("fail_utilization", 0); status != 0) {
    return static_cast<int>(status);
  }
  const auto sampled_us = static_cast<std::uint64_t>(value("sampled_us", INT64_MAX));
  if (sampled_us <= since_us) {
    return not_found;
  }
  auto ids = values("process");
  ids.push_back(getpid());
  if (since_us == 0 || result == nullptr || ids.size() > *count) {
    return insufficient_size;
  }
  *count = static_cast<unsigned>(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto sm = ids[i] == getpid() ? 100 : value("busy", 0);
    result[i] = {static_cast<unsigned>(ids[i]), sampled_us, static_cast<unsigned>(sm), 0, 0, 0};
  }
  return success;
}
#endif
