#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <vector>

#include "ouroboros/cuda_executor.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/options.hpp"
#include "referee/arena_tensors.hpp"

namespace ouroboros::referee::device {

/// The device on which this process can make tensors that the GPU's executors get without a detour:
/// the GPU as LibTorch numbers it. Empty where LibTorch has no CUDA or cannot see that GPU: then
/// cases are made on the host and copied.
[[nodiscard]] std::optional<at::Device> shared_device(const Options& options);

/// What `make` makes of `sets`, which becomes half as many whenever there is too little memory on
/// the GPU for them. Throws what `make` throws otherwise.
template <typename Make>
auto with_memory_for(std::size_t& sets, const Make& make) {
  for (;; sets /= 2) {
    try {
      return make();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::out_of_memory || sets < 2) throw;
    }
  }
}

/// The memory of one call from which a race gets its inputs and to which it gives its outputs, in
/// several sets.
class RaceMemory {
 public:
  /// `shared`: what `shared_device` gave. `sets`: at least one, and at most so many: where others
  /// hold most of the GPU's memory there are fewer. Throws `Error{out_of_memory}` when there is
  /// none for one.
  RaceMemory(const Call& call, const Options& options, std::optional<at::Device> shared,
             std::size_t sets);

  [[nodiscard]] std::size_t sets() const noexcept { return tensors_.size(); }
  [[nodiscard]] const ArenaTensors& tensors(std::size_t set) const { return tensors_.at(set); }

  /// A race of `plans` on the first `race.sets` sets.
  [[nodiscard]] std::unique_ptr<CudaRace> open(CudaExecutor& executor,
                                               std::vector<LaunchPlan> plans,
                                               const CudaRaceOptions& race = {}) const;

  /// Waits until everything that LibTorch was asked to do here is done. An executor knows nothing
  /// of LibTorch's streams.
  void settle() const;

 private:
  at::Device where_;
  std::shared_ptr<const Arena> host_;
  std::shared_ptr<const DeviceArena> device_;
  std::vector<ArenaTensors> tensors_;
};

}  // namespace ouroboros::referee::device
