#pragma once

#include <random>

#include "executor/cuda/main/device.hpp"
#include "executor/cuda/main/host_words.hpp"
#include "executor/cuda/main/kernels.hpp"

namespace ouroboros::cuda {

/// Keeps some of the multiprocessors' units busy while a launch runs: which ones is drawn each
/// time. A GPU starts blocks in the same order every time and they take the same time, so that
/// blocks or warps that should wait for each other, and do not, may get away with it; beside this
/// they get out of step.
///
/// No launch has to wait for it long: it leaves room for others, and ends by itself. One for a
/// process: its kernel may look at its words for a while after `end`.
class Hindrance {
 public:
  explicit Hindrance(Device& device) : device_(device), words_(device) {}

  /// Returns once it is there, or false if the device had no place for it soon.
  bool begin();
  void end() noexcept;

 private:
  Device& device_;
  HostWords<HindranceWords> words_;
  std::random_device random_;
  unsigned ticket_ = 0;
  std::uint64_t password_ = 0;
};

}  // namespace ouroboros::cuda
