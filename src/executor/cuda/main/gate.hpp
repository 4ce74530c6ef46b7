#pragma once

#include "executor/cuda/main/device.hpp"
#include "executor/cuda/main/host_words.hpp"
#include "executor/cuda/main/kernels.hpp"

namespace ouroboros::cuda {

/// Holds the stream until the host has submitted all that is to follow, so that nothing behind the
/// gate waits for the host. A gate that is forgotten opens by itself: it cannot lock the device.
class Gate {
 public:
  explicit Gate(Device& device) : device_(device), words_(device) {}

  /// Enqueues the wait.
  void close();

  /// Lets the stream go on.
  void open() noexcept;

  /// Whether the last gate gave up before it was opened. Known once the stream has passed it.
  [[nodiscard]] bool late() const noexcept;

 private:
  Device& device_;
  HostWords<GateWords> words_;
  unsigned ticket_ = 0;
};

}  // namespace ouroboros::cuda
