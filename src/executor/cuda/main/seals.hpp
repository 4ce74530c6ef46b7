#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "executor/cuda/main/device.hpp"
#include "executor/cuda/main/range.hpp"

namespace ouroboros::cuda {

/// Whether memory still holds what was put there. Nothing in a context is hidden from a kernel: it
/// can read what other launches were given behind its own parameters, and so learn where results
/// are kept until somebody checks them. What they were is known by a sum over all words, under a
/// key that is drawn after they were made; the sum is on the host before any other kernel runs.
class Seals {
 public:
  /// For so many places at most.
  Seals(Device& device, std::size_t most);

  /// Enqueues a look at what lies there now.
  void seal(Address from, std::uint64_t bytes);

  /// Brings to the host what was enqueued. Waits.
  void fetch();

  /// Whether all that was sealed is as it was. Waits.
  [[nodiscard]] bool intact();

 private:
  struct Seal {
    Address from = 0;
    std::uint64_t bytes = 0;
    std::uint64_t key = 0;
    std::uint64_t sum = 0;
    bool enqueued = false;
  };

  void enqueue(std::size_t number);
  std::vector<std::uint64_t> sums();

  Device& device_;
  Range sums_;
  std::vector<Seal> seals_;
  std::map<Address, std::size_t> numbers_;  ///< Of the seals, by place.
};

}  // namespace ouroboros::cuda
