#pragma once

#include <cstddef>

#include "executor/cuda/main/device.hpp"

namespace ouroboros::cuda {

/// Overwrites local memory, where kernels have their stacks and what does not fit into registers:
/// what one launch leaves there, the next may find.
class LocalScrub {
 public:
  /// `frame_bytes`: what the largest kernel has in each thread, a multiple of 16.
  LocalScrub(const Device& device, std::size_t frame_bytes);
  ~LocalScrub();
  LocalScrub(const LocalScrub&) = delete;
  LocalScrub& operator=(const LocalScrub&) = delete;

  void enqueue() const;

 private:
  const Device& device_;
  ModuleHandle module_ = nullptr;
  FunctionHandle kernel_ = nullptr;
};

}  // namespace ouroboros::cuda
