#pragma once

#include <cstddef>
#include <vector>

#include "executor/cuda/main/kernels.hpp"
#include "executor/cuda/main/range.hpp"

namespace ouroboros::cuda {

/// A second clock beside the events: between two stamps, the time that passed on the device's own
/// clock, and how many cycles its multiprocessors made of it.
class Stamps {
 public:
  /// Room for `count` stamps.
  Stamps(Device& device, std::size_t count);

  [[nodiscard]] std::size_t count() const noexcept { return stamps_.size() / most_stamps; }

  /// Enqueues forgetting all of them.
  void clear() const;

  /// Enqueues stamp number `index`.
  void take(std::size_t index) const;

  struct Span {
    double microseconds = 0;
    double clock_mhz = 0;
  };

  /// From stamp `first` to stamp `first + 1`: the median over multiprocessors that made both. The
  /// stream must have passed them, and `fetch` been called since.
  [[nodiscard]] Span between(std::size_t first) const;

  /// Brings the stamps to the host.
  void fetch();

 private:
  Device& device_;
  Range range_;
  std::vector<ClockStamp> stamps_;
};

}  // namespace ouroboros::cuda
