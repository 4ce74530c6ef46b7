#pragma once

#include "executor/cuda/main/kernels.hpp"
#include "executor/cuda/main/mapped.hpp"

namespace ouroboros::cuda {

/// Holds the stream until the host has submitted all that is to follow, so that nothing behind the
/// gate waits for the host. A gate that is forgotten opens by itself: it cannot lock the device.
class Gate {
 public:
  explicit Gate(const Device& device);

  /// Enqueues the wait. Returns its number.
  unsigned close();

  /// Lets the stream go on, through this gate and all before it.
  void open() noexcept;

  /// Whether that gate, one of the last few (`gates_known`), gave up before it was opened. Known
  /// once the stream has passed it.
  [[nodiscard]] bool late(unsigned gate) const noexcept;

 private:
  [[nodiscard]] volatile GateWords& words() const noexcept;

  const Device& device_;
  Mapped memory_;
  unsigned last_ = 0;
};

}  // namespace ouroboros::cuda
