#pragma once

#include <span>

#include "executor/cuda/main/device.hpp"

namespace ouroboros::cuda {

/// Somewhere in 16 TiB that the driver does not use itself. Where it refuses, it chooses.
[[nodiscard]] Address random_address(std::size_t granule);

/// Device memory between guards: a reserved range of addresses whose middle is mapped, with one
/// granule on each side that nobody can touch.
class Range {
 public:
  /// Room for `bytes`, rounded up to granules, at an address that a kernel cannot guess.
  Range(Device& device, std::size_t bytes);
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

  [[nodiscard]] Address begin() const noexcept { return begin_; }
  [[nodiscard]] Address end() const noexcept { return begin_ + bytes_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// What kernels may do here. Nothing may be running.
  void allow(Access access);

  /// Enqueues a fill of [from, to), which are multiples of 4, with a 32-bit pattern.
  void fill(Address from, Address to, std::uint32_t pattern) const;

 private:
  Device& device_;
  std::size_t bytes_;
  Address reserved_ = 0;
  Address begin_ = 0;
  PhysicalHandle pages_ = 0;
  Access access_ = Access::none;
};

/// Enqueues a read of each page on every multiprocessor, so that addresses are translated quickly
/// after it.
void touch(const Device& device, std::span<const Range* const> ranges);

}  // namespace ouroboros::cuda
