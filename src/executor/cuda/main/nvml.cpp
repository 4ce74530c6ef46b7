#include "executor/cuda/main/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>

namespace ouroboros::cuda {
namespace {

/// The process that started `pid`; 0 when it is not known.
pid_t parent_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  // "PID (NAME) STATE PARENT ...", and a name may hold anything.
  const auto close = line.rfind(')');
  return close == std::string::npos || close + 4 > line.size()
             ? 0
             : std::atoi(line.c_str() + close + 4);
}

bool is_own(pid_t pid, const OwnProcesses& own) {
  constexpr int deepest = 64;  // Ids are used anew while one looks: nothing may go round for ever.
  if (pid == own.referee || pid == getpid()) {
    return true;
  }
  for (int depth = 0; pid > 1 && depth < deepest; ++depth, pid = parent_of(pid)) {
    if (std::find(own.helpers.begin(), own.helpers.end(), pid) != own.helpers.end()) {
      return true;
    }
  }
  return false;
}

}  // namespace

/// The questions of one state.
class Nvml::Reading {
 public:
  explicit Reading(const Nvml& nvml) : nvml_(nvml) {}

  GpuState read(const OwnProcesses& own) {
    clocks();
    slowdowns();
    power();
    processes(own);
    state_.reason = missing_.empty() ? "" : "NVML does not tell " + missing_;
    return std::move(state_);
  }

 private:
  void clocks() {
    unsigned value = 0;
    if (ask("sm_clock_mhz", nvml_.clock_, nvml_clock_sm, &value)) {
      state_.sm_clock_mhz = static_cast<int>(value);
    }
    if (ask("sm_clock_max_mhz", nvml_.max_clock_, nvml_clock_sm, &value)) {
      state_.sm_clock_max_mhz = static_cast<int>(value);
    }
    if (ask("memory_clock_mhz", nvml_.clock_, nvml_clock_memory, &value)) {
      state_.memory_clock_mhz = static_cast<int>(value);
    }
  }

  void slowdowns() {
    std::uint64_t bits = 0;
    const auto function =
        nvml_.event_reasons_ != nullptr ? nvml_.event_reasons_ : nvml_.throttle_reasons_;
    if (!ask("slowdowns and clocks_locked", function, &bits)) {
      return;
    }
    for (const auto& [bit, name] : nvml_slowdowns) {
      if ((bits & bit) != 0) {
        state_.slowdowns.emplace_back(name);
      }
    }
    state_.clocks_locked = (bits & nvml_applications_clocks) != 0;
  }

  void power() {
    constexpr double milli = 1e-3;
    unsigned value = 0;
    if (ask("power_w", nvml_.power_, &value)) {
      state_.power_w = value * milli;
    }
    if (ask("power_limit_w", nvml_.power_limit_, &value)) {
      state_.power_limit_w = value * milli;
    }
    if (ask("temperature_c", nvml_.temperature_, nvml_temperature_gpu, &value)) {
      state_.temperature_c = static_cast<int>(value);
    }
    NvmlViolation time;
    if (ask("power_violation_ns", nvml_.violation_, nvml_policy_power, &time)) {
      state_.power_violation_ns = time.violation_ns;
    }
    if (ask("thermal_violation_ns", nvml_.violation_, nvml_policy_thermal, &time)) {
      state_.thermal_violation_ns = time.violation_ns;
    }
  }

  void processes(const OwnProcesses& own) {
    unsigned current = 0;
    unsigned pending = 0;
    // GPUs that cannot be shared in one of these ways know no answer.
    const bool mig = nvml_.mig_mode_ != nullptr &&
                     nvml_.mig_mode_(nvml_.device_, &current, &pending) == nvml_success &&
                     current != 0;
    std::string ignored;
    const auto clients = list(nvml_.mps_processes_, ignored);
    state_.shared = nvml_.partition_ || mig || (clients && !clients->empty());

    std::string why;
    auto running = list(nvml_.processes_, why);
    if (!running) {
      miss("other_processes", why);
      return;
    }
    if (clients) {
      running->insert(running->end(), clients->begin(), clients->end());
    }
    // This process has a context: a list without it is of other ids than ours, or of none.
    if (std::find(running->begin(), running->end(), getpid()) == running->end()) {
      miss("other_processes", "its list of processes lacks this one");
      return;
    }
    std::sort(running->begin(), running->end());
    running->erase(std::unique(running->begin(), running->end()), running->end());
    const auto is_mine = [&](pid_t pid) { return is_own(pid, own); };
    running->erase(std::remove_if(running->begin(), running->end(), is_mine), running->end());
    state_.other_processes = static_cast<int>(running->size());
    busy(*running);
  }

  /// What `others`, who are there still, have computed. Of who is gone it is not known whose it
  /// was.
  void busy(const std::vector<pid_t>& others) {
    if (nvml_.utilization_ == nullptr) {
      miss("other_busy_percent", no_function);
      return;
    }
    int status = nvml_success;
    const auto shares = entries<NvmlUtilization>(
        [&](NvmlUtilization* list, unsigned* count) {
          return nvml_.utilization_(nvml_.device_, list, count, nvml_.since_us_);
        },
        status);
    if (!shares && status != nvml_not_found) {  // It has seen nobody compute.
      miss("other_busy_percent", nvml_.describe(status));
      return;
    }
    unsigned percent = 0;
    for (const auto& one : shares.value_or(std::vector<NvmlUtilization>{})) {
      const bool other =
          std::find(others.begin(), others.end(), static_cast<pid_t>(one.pid)) != others.end();
      if (other) percent += std::min(one.sm, 100U);
    }
    state_.other_busy_percent = static_cast<int>(std::min(percent, 100U));
  }

  using List = int (*)(NvmlDevice device, unsigned* count, NvmlProcess* list);

  /// The ids of a list; empty, with `why`, when there is none to be had.
  std::optional<std::vector<pid_t>> list(List function, std::string& why) const {
    if (function == nullptr) {
      why = no_function;
      return std::nullopt;
    }
    int status = nvml_success;
    const auto found = entries<NvmlProcess>(
        [&](NvmlProcess* list, unsigned* count) { return function(nvml_.device_, count, list); },
        status);
    if (!found) {
      why = nvml_.describe(status);
      return std::nullopt;
    }
    std::vector<pid_t> ids;
    for (const auto& one : *found) ids.push_back(static_cast<pid_t>(one.pid));
    return ids;
  }

  /// A list of whatever length. Empty, with the `status`, when there is none to be had.
  template <typename Entry, typename Fill>
  static std::optional<std::vector<Entry>> entries(const Fill& fill, int& status) {
    constexpr unsigned most = 1U << 16;
    status = nvml_insufficient_size;
    for (unsigned room = 256; status == nvml_insufficient_size && room <= most; room *= 4) {
      std::vector<Entry> found(room);
      unsigned count = room;
      status = fill(found.data(), &count);
      if (status == nvml_success) {
        found.resize(std::min(count, room));
        return found;
      }
    }
    return std::nullopt;
  }

  /// Whether the answer to a question arrived.
  template <typename Function, typename... Arguments>
  bool ask(std::string_view what, Function function, Arguments... arguments) {
    if (function == nullptr) {
      miss(what, no_function);
      return false;
    }
    const int status = function(nvml_.device_, arguments...);
    if (status != nvml_success) {
      miss(what, nvml_.describe(status));
    }
    return status == nvml_success;
  }

  void miss(std::string_view what, std::string_view why) {
    missing_ += fmt::format("{}{} ({})", missing_.empty() ? "" : ", ", what, why);
  }

  static constexpr const char* no_function = "this version has no function for it";

  const Nvml& nvml_;
  GpuState state_;
  std::string missing_;
};

GpuState Nvml::state(const OwnProcesses& own) {
  const auto now_us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(
          std::chrono::system_clock::now().time_since_epoch())  // Which the driver goes by.
          .count());
  if (!started_) {
    started_ = true;
    start();
    constexpr std::uint64_t second = 1'000'000;
    since_us_ = now_us - second;
  }
  if (!problem_.empty()) {
    GpuState state;
    state.reason = problem_;
    return state;
  }
  auto state = Reading(*this).read(own);
  // The first samples after that are of before, when somebody else may have had the GPU in turn.
  constexpr std::uint64_t lag_us = 250'000;
  since_us_ = now_us + lag_us;
  return state;
}

void Nvml::start() {
  const char* configured = std::getenv("OUROBOROS_LIBNVML");
  const std::string path = configured != nullptr ? configured : "libnvidia-ml.so.1";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    problem_ = fmt::format("NVML could not be loaded: {}", why != nullptr ? why : path);
    return;
  }
#define OUROBOROS_LOAD(field, symbol, parameters) \
  field##_ = reinterpret_cast<decltype(field##_)>(dlsym(library, #symbol));
  OUROBOROS_NVML(OUROBOROS_LOAD)
#undef OUROBOROS_LOAD
  error_string_ = reinterpret_cast<decltype(error_string_)>(dlsym(library, "nvmlErrorString"));
  if (init_ == nullptr || by_uuid_ == nullptr) {
    problem_ = path + " is not NVML";
    return;
  }
  if (const int status = init_(); status != nvml_success) {
    problem_ = "NVML could not be initialised: " + describe(status);
    return;
  }
  const int status = by_uuid_(uuid_.c_str(), &device_);
  // The driver gives a partition's own id, which begins with another word.
  constexpr std::string_view whole = "GPU-";
  if (status != nvml_success && parent_ != nullptr && uuid_.starts_with(whole)) {
    NvmlDevice part = nullptr;
    partition_ = by_uuid_(("MIG-" + uuid_.substr(whole.size())).c_str(), &part) == nvml_success &&
                 parent_(part, &device_) == nvml_success;
  }
  if (status != nvml_success && !partition_) {
    problem_ = fmt::format("NVML does not know {}: {}", uuid_, describe(status));
  }
}

std::string Nvml::describe(int status) const {
  const char* text = error_string_ != nullptr ? error_string_(status) : nullptr;
  return text != nullptr ? text : fmt::format("NVML error {}", status);
}

}  // namespace ouroboros::cuda
