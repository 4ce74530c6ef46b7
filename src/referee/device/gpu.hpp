#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/door.hpp"
#include "ouroboros/cuda_executor.hpp"
#include "ouroboros/options.hpp"
#include "referee/device/gpu_lock.hpp"

namespace ouroboros::referee::device {

/// One GPU for one stretch of work: an executor on it that is this caller's alone. Within a process
/// callers queue; lock files for each GPU keep other processes' referees away. Executors outlive
/// their Gpu, because a context costs a fifth of a second; one that was lost is replaced.
class Gpu {
 public:
  /// Waits for the GPU. Throws `Error{unsupported}` where there is none.
  explicit Gpu(const Options& options, GpuUse use = GpuUse::time);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  [[nodiscard]] CudaExecutor& executor() noexcept { return *executor_; }

  /// Replaces the executor by a fresh one: nothing that ran before can reach what runs now.
  void renew();

  /// False when the lock files cannot be used: others may time on the same GPU.
  [[nodiscard]] bool exclusive() const noexcept { return static_cast<bool>(file_); }

  /// Whether this machine has the GPU that `options` name.
  [[nodiscard]] static bool present(const Options& options);

  /// The GPU that `options` name. Throws `Error{unsupported}` where there is none, with the reason.
  [[nodiscard]] static CudaDevice describe(const Options& options);

 private:
  struct Slot;
  const Options& options_;
  std::shared_ptr<Slot> slot_;
  std::unique_lock<std::mutex> lock_;
  GpuLock file_;
  std::unique_ptr<CudaExecutor> executor_;
};

/// A place on one GPU for a process that traces there, beside others and beside replays. There are
/// as many as processors: whoever waits to time waits for all that have one.
class TracingPlace {
 public:
  /// Waits until nobody times, or waits for that.
  explicit TracingPlace(const Options& options);

 private:
  static Door& door();

  Place place_;
  GpuLock file_;
  std::optional<Gpu> alone_;  ///< Where the lock files cannot be used.
};

}  // namespace ouroboros::referee::device
