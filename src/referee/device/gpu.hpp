#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "ouroboros/cuda_executor.hpp"
#include "ouroboros/options.hpp"
#include "sandbox/descriptor.hpp"

namespace ouroboros::referee::device {

/// One GPU for one stretch of work: an executor on it that is this caller's alone. Within a process
/// callers queue; a lock file for each GPU keeps other processes' referees away. Executors outlive
/// their Gpu, because a context costs a fifth of a second; one that was lost is replaced.
class Gpu {
 public:
  /// Waits for the GPU. Throws `Error{unsupported}` where there is none.
  explicit Gpu(const Options& options);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  [[nodiscard]] CudaExecutor& executor() noexcept { return *executor_; }

  /// Replaces the executor by a fresh one: nothing that ran before can reach what runs now.
  void renew();

  /// False when the lock file cannot be used: others may time on the same GPU.
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
  sandbox::Descriptor file_;
  std::unique_ptr<CudaExecutor> executor_;
};

/// A share of one GPU, for work that nobody times: others may have shares of it too, but no `Gpu`.
class GpuShare {
 public:
  /// Waits until nobody has the GPU alone, or waits for that.
  explicit GpuShare(const Options& options);

 private:
  sandbox::Descriptor file_;
  std::optional<Gpu> alone_;  ///< Where the lock file cannot be used.
};

}  // namespace ouroboros::referee::device
