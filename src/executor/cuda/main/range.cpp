#include "executor/cuda/main/range.hpp"

#include <algorithm>
#include <iterator>
#include <random>

#include "executor/cuda/main/kernels.hpp"

namespace ouroboros::cuda {
namespace {

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

Address random_address(std::size_t granule) {
  constexpr Address first = 0x100000000000;
  static std::mt19937_64 random{std::random_device{}()};
  return first + random() % (std::uint64_t{1} << 44) / granule * granule;
}

Range::Range(Device& device, std::size_t bytes)
    : device_(device), bytes_(round_up(std::max<std::size_t>(bytes, 1), device.granule())) {
  const auto& driver = device.driver();
  const std::size_t guard = device.granule();
  driver.check(
      driver.cuMemAddressReserve(&reserved_, bytes_ + 2 * guard, 0, random_address(guard), 0),
      "cuMemAddressReserve");
  begin_ = reserved_ + guard;
  try {
    pages_ = device.take_pages(bytes_);
    driver.check(driver.cuMemMap(begin_, bytes_, 0, pages_, 0), "cuMemMap");
  } catch (...) {
    if (pages_ != 0) {
      device.give_pages(pages_, bytes_);
    }
    driver.cuMemAddressFree(reserved_, bytes_ + 2 * guard);
    throw;
  }
  allow(Access::read_write);
}

Range::~Range() {
  // After a fault all of this fails; the process ends then, and takes the context with it.
  const auto& driver = device_.driver();
  if (driver.cuMemUnmap(begin_, bytes_) == status_success) {
    device_.give_pages(pages_, bytes_);
    driver.cuMemAddressFree(reserved_, bytes_ + 2 * device_.granule());
  }
}

void Range::allow(Access access) {
  if (access == access_) {
    return;
  }
  device_.allow(begin_, bytes_, access);
  access_ = access;
}

void Range::fill(Address from, Address to, std::uint32_t pattern) const {
  if (from < to) {
    device_.driver().check(device_.fill(from, pattern, 4, (to - from) / 4), "cuMemsetD32Async");
  }
}

void touch(const Device& device, std::span<const Range* const> ranges) {
  while (!ranges.empty()) {
    TouchedRanges some;
    const auto count = std::min(ranges.size(), std::size(some.each));
    for (std::size_t i = 0; i < count; ++i) {
      some.each[i] = {ranges[i]->begin(), ranges[i]->end() - ranges[i]->begin()};
    }
    device.launch("ouroboros_touch", device.multiprocessors(), 256, 0, some);
    ranges = ranges.subspan(count);
  }
}

}  // namespace ouroboros::cuda
