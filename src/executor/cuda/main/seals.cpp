#include "executor/cuda/main/seals.hpp"

#include <algorithm>
#include <random>

namespace ouroboros::cuda {
namespace {

constexpr auto patience = std::chrono::seconds{60};

std::uint64_t fresh_key() {
  static std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

}  // namespace

Seals::Seals(Device& device, std::size_t most)
    : device_(device), most_(most), sums_(device, most * sizeof(std::uint64_t)) {}

void Seals::keep(Address from, Address to, std::uint64_t bytes) {
  const auto number = numbers_.emplace(to, seals_.size()).first->second;
  if (number == seals_.size()) {
    seals_.emplace_back();
  }
  seals_[number] = {to, bytes, fresh_key(), 0, true};
  enqueue(number, from);
}

void Seals::enqueue(std::size_t number, Address from) {
  if (taken_) {
    sums_.fill(sums_.begin(), sums_.begin() + most_ * sizeof(std::uint64_t), 0);
    taken_ = false;
  }
  const auto& one = seals_[number];
  device_.launch("ouroboros_keep", device_.multiprocessors() * 2, 1024, 0, from, one.at, one.bytes,
                 one.key, sums_.begin() + number * sizeof(std::uint64_t));
}

std::vector<std::uint64_t> Seals::take_sums() {
  std::vector<std::uint64_t> found(seals_.size());
  const auto& driver = device_.driver();
  driver.check(driver.cuMemcpyDtoH(found.data(), sums_.begin(), found.size() * sizeof found[0]),
               "cuMemcpyDtoH");
  taken_ = true;
  return found;
}

void Seals::close() {
  if (std::ranges::none_of(seals_, &Seal::open)) {
    return;
  }
  const auto found = take_sums();
  for (std::size_t i = 0; i < seals_.size(); ++i) {
    if (seals_[i].open) {
      seals_[i].sum = found[i];
      seals_[i].open = false;
    }
  }
}

bool Seals::intact() {
  if (seals_.empty()) {
    return true;
  }
  for (std::size_t i = 0; i < seals_.size(); ++i) {
    enqueue(i, seals_[i].at);
  }
  device_.wait(Clock::now() + patience);
  return std::ranges::equal(take_sums(), seals_, {}, {}, &Seal::sum);
}

}  // namespace ouroboros::cuda
