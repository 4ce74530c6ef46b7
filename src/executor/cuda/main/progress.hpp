#pragma once

#include "executor/cuda/main/mapped.hpp"

namespace ouroboros::cuda {

/// How far the stream has come, which a device that failed does not say any more.
class Progress {
 public:
  explicit Progress(const Device& device);

  /// Enqueues a mark. Returns its number: larger than that of all before it.
  unsigned mark();

  /// The number of the last mark that was passed; 0 before the first.
  [[nodiscard]] unsigned passed() const noexcept;

 private:
  const Device& device_;
  Mapped word_;
  unsigned marks_ = 0;
};

}  // namespace ouroboros::cuda
