#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "executor/cuda/main/device.hpp"
#include "executor/cuda/main/range.hpp"

namespace ouroboros::cuda {

/// Copies of memory that are known again. Nothing in a context is hidden from a kernel: it can read
/// what other launches were given behind its own parameters, and so learn where results are kept
/// until somebody checks them. What they were is known by a sum over all words, under a key that is
/// drawn after they were made; the host has the sum before any other kernel runs.
class Seals {
 public:
  /// For so many places at most.
  Seals(Device& device, std::size_t most);

  /// Enqueues a copy.
  void keep(Address from, Address to, std::uint64_t bytes);

  /// Knows what was copied by its sum. The stream must be idle.
  void close();

  /// Whether all copies are as they were. Waits.
  [[nodiscard]] bool intact();

 private:
  struct Seal {
    Address at = 0;
    std::uint64_t bytes = 0;
    std::uint64_t key = 0;
    std::uint64_t sum = 0;
    bool open = false;
  };

  void enqueue(std::size_t number, Address from);
  [[nodiscard]] std::vector<std::uint64_t> take_sums();

  Device& device_;
  std::size_t most_;
  Range sums_;         ///< By number.
  bool taken_ = true;  ///< They are on the host, and have to be zero for the next.
  std::vector<Seal> seals_;
  std::map<Address, std::size_t> numbers_;  ///< Of the seals, by place.
};

}  // namespace ouroboros::cuda
