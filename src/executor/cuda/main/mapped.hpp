#pragma once

#include <cstddef>

#include "executor/cuda/main/device.hpp"

namespace ouroboros::cuda {

/// Memory of the host's that kernels see, zeroed: what host and device say to each other while both
/// are at work. The host's side reads and writes it as `volatile`.
class Mapped {
 public:
  Mapped(const Device& device, std::size_t bytes);
  ~Mapped();
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  [[nodiscard]] void* here() const noexcept { return memory_; }
  [[nodiscard]] Address there() const noexcept { return address_; }

 private:
  const Device& device_;
  void* memory_ = nullptr;
  Address address_ = 0;
};

}  // namespace ouroboros::cuda
