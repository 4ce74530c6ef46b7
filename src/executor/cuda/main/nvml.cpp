#include "executor/cuda/main/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
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
    state_.other_processes = static_cast<int>(std::count_if(
        running->begin(), running->end(), [&](pid_t pid) { return !is_own(pid, own); }));
  }

  using List = int (*)(NvmlDevice device, unsigned* count, NvmlProcess* list);

  /// The ids of a list; empty, with `why`, when there is none to be had.
  std::optional<std::vector<pid_t>> list(List function, std::string& why) const {
    constexpr unsigned most = 1U << 16;
    int status = nvml_insufficient_size;
    for (unsigned room = 64; function != nullptr && room <= most; room *= 4) {
      std::vector<NvmlProcess> found(room);
      unsigned count = room;
      status = function(nvml_.device_, &count, found.data());
      if (status == nvml_success) {
        std::vector<pid_t> ids;
        for (unsigned i = 0; i < std::min(count, room); ++i) {
          ids.push_back(static_cast<pid_t>(found[i].pid));
        }
        return ids;
      }
      if (status != nvml_insufficient_size) {
        break;
      }
    }
    why = function == nullptr ? no_function : nvml_.describe(status);
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
  if (!started_) {
    started_ = true;
    start();
  }
  if (!problem_.empty()) {
    GpuState state;
    state.reason = problem_;
    return state;
  }
  return Reading(*this).read(own);
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
