#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include "executor/cuda/main/poison.hpp"

namespace ouroboros::cuda {

/// Where among launches a sample comes. Every eighth launch, or fourth, takes an H200 up to 0.4 us
/// longer: what is compared has to come at the same place, and a mean has to be one over all.
/// Each place comes once before any comes again, in an order that is drawn anew each time.
class Places {
 public:
  static constexpr unsigned count = 8;

  [[nodiscard]] unsigned next() {
    if (taken_ == count) {
      std::iota(order_.begin(), order_.end(), 0U);
      std::ranges::shuffle(order_, std::minstd_rand(random_bits()));
      taken_ = 0;
    }
    return order_[taken_++];
  }

 private:
  std::array<unsigned, count> order_{};
  unsigned taken_ = count;
};

}  // namespace ouroboros::cuda
