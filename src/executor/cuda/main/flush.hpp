#pragma once

#include "executor/cuda/main/range.hpp"

namespace ouroboros::cuda {

/// Evicts the L2 cache by reading a buffer larger than it, and leaves it clean: a write would leave
/// lines whose write-back the next kernel pays for. Two buffers take turns, so that a flush finds
/// nothing of its own in the cache and always takes as long.
class Flush {
 public:
  /// `l2_sizes`: how many times the cache's size is read.
  explicit Flush(Device& device, unsigned l2_sizes = 2);

  /// Enqueues one pass over the next buffer.
  void enqueue();

  [[nodiscard]] std::size_t bytes() const noexcept { return count_ * 16; }

 private:
  Device& device_;
  unsigned grid_;
  std::uint64_t count_;  ///< 16-byte words of a buffer.
  bool second_ = false;
  Range buffer_;
  Range sink_;
};

}  // namespace ouroboros::cuda
