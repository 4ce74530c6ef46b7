#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "ouroboros/api.hpp"
#include "ouroboros/plan.hpp"

namespace ouroboros {

struct CudaDevice;

/// The buffers of one call in a GPU's memory, shared between this process and executors: once, or
/// in several sets, of which each can hold other values.
///
/// Inputs that this process makes on the GPU reach an executor, and outputs come back, without a
/// detour through the host. An executor maps this memory only while it copies: no candidate's
/// kernel runs meanwhile, and none can reach it.
///
/// Unlike everything else in this library this loads the CUDA driver into the calling process. It
/// uses the GPU's primary context, which is the one that LibTorch uses.
class OUROBOROS_API DeviceArena {
 public:
  /// Lays out the buffers of `call` on `device`, which `CudaExecutor::device` describes. `libcuda`
  /// as in `CudaOptions`. Throws `Error{unsupported}` where this process has no driver or cannot
  /// see that GPU (CUDA_VISIBLE_DEVICES may hide it), and `Error{out_of_memory}`.
  DeviceArena(Call call, const CudaDevice& device, const std::string& libcuda = {},
              std::size_t sets = 1);
  ~DeviceArena();
  DeviceArena(const DeviceArena&) = delete;
  DeviceArena& operator=(const DeviceArena&) = delete;

  [[nodiscard]] const Call& call() const noexcept;
  [[nodiscard]] std::size_t sets() const noexcept;

  /// The first element of a buffer: an address on the GPU, 4096-byte aligned.
  [[nodiscard]] void* data(std::size_t buffer, std::size_t set = 0) const;

  /// The GPU's number in this process, in the order that the driver, and LibTorch, have here.
  [[nodiscard]] int ordinal() const noexcept;

  /// Whether the addresses are the host's too, as those of a driver for tests are.
  [[nodiscard]] bool on_host() const noexcept;

  class Memory;  ///< Offsets and descriptor, for executors.
  [[nodiscard]] const Memory& memory() const noexcept;

 private:
  std::unique_ptr<Memory> memory_;
};

}  // namespace ouroboros
