#include "referee/device/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "ouroboros/error.hpp"
#include "referee/device/device.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee::device {

/// What this process keeps for one GPU.
struct Gpu::Slot {
  std::mutex mutex;
  std::unique_ptr<CudaExecutor> executor;
  double replay_seconds = 0;        ///< That the executor was started with.
  std::function<bool()> cancelled;  ///< Of the caller that has the GPU now.
};

namespace {

/// The GPUs of this machine, which do not change while a process lives. Throws where that cannot be
/// found out: a machine that has none is judged on in another way, and for good.
const CudaDevices& machine() {
  static std::mutex mutex;
  static std::optional<CudaDevices> known;
  const std::lock_guard guard(mutex);
  if (!known) {
    auto found = cuda_devices();
    if (!found.answered) {
      throw Error(ErrorCode::executor_lost,
                  "it could not be found out whether there is a GPU: " + found.reason);
    }
    known = std::move(found);
  }
  return *known;
}

std::optional<CudaDevice> find(const Options& options) {
  for (const auto& device : machine().devices) {
    if (device.ordinal == options.device.ordinal) return device;
  }
  return std::nullopt;
}

}  // namespace

Gpu::Gpu(const Options& options, GpuUse use) : options_(options) {
  static std::mutex registry_mutex;
  static auto* const registry = new std::map<int, std::shared_ptr<Slot>>;  // Outlives all callers.
  {
    const std::lock_guard guard(registry_mutex);
    auto& slot = (*registry)[options.device.ordinal];
    if (!slot) {
      slot = std::make_shared<Slot>();
    }
    slot_ = slot;
  }
  lock_ = std::unique_lock(slot_->mutex);
  file_ = lock_gpu(options, use);
  slot_->cancelled = options.cancelled;
  executor_ = std::move(slot_->executor);
  if (!executor_ || slot_->replay_seconds != options.limits.replay_seconds) {
    renew();
  }
}

Gpu::~Gpu() {
  slot_->executor = std::move(executor_);
  slot_->cancelled = nullptr;
}

void Gpu::renew() {
  executor_.reset();  // The old context's memory first.
  CudaOptions cuda;
  cuda.device = options_.device.ordinal;
  cuda.limits = options_.limits;
  // The executor outlives this caller, whose hook must not.
  cuda.cancelled = [slot = slot_.get()] { return slot->cancelled && slot->cancelled(); };
  cuda.reuse = true;
  executor_ = CudaExecutor::start(cuda);
  slot_->replay_seconds = options_.limits.replay_seconds;
}

Door& TracingPlace::door() {
  static auto* const door = new Door(std::max(1U, std::thread::hardware_concurrency()));
  return *door;  // It outlives all callers.
}

TracingPlace::TracingPlace(const Options& options)
    : place_(door(), options.cancelled), file_(lock_gpu(options, GpuUse::trace)) {
  if (!file_) {
    alone_.emplace(options);
  }
}

bool Gpu::present(const Options& options) { return find(options).has_value(); }

void describe_gpu(const Options& options, Provenance& provenance) {
  if (const auto found = find(options)) {
    provenance.device = found->name;
    provenance.driver_version =
        fmt::format("CUDA {}.{}", found->driver_version / 1000, found->driver_version % 1000 / 10);
  }
}

Calibration calibrated(const Options& options, bool fresh) {
  static_cast<void>(Gpu::describe(options));  // Says why where there is none.
  Gpu gpu(options);
  return calibration(gpu.executor(), fresh);
}

CudaDevice Gpu::describe(const Options& options) {
  const auto found = find(options);
  if (!found) {
    const auto& reason = machine().reason;
    throw Error(ErrorCode::unsupported,
                fmt::format("there is no GPU number {} here{}{}: name the architecture to compile "
                            "for (target, e.g. \"sm_90\") to judge without one",
                            options.device.ordinal, reason.empty() ? "" : ", ", reason));
  }
  return *found;
}

}  // namespace ouroboros::referee::device
