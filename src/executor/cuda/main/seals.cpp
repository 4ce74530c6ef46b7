#include "executor/cuda/main/seals.hpp"

#include <algorithm>
#include <random>

namespace ouroboros::cuda {
namespace {

constexpr auto patience = std::chrono::seconds{60};

SealKey fresh_key() {
  std::random_device random;
  const auto half = [&random] { return std::uint64_t{random()} << 32 | random(); };
  return {half(), half()};
}

}  // namespace

Seals::Seals(Device& device, std::size_t most)
    : device_(device),
      most_(most),
      key_(fresh_key()),
      lent_(device),
      sums_(device, (most + 1) * sizeof(std::uint64_t)) {}

Address Seals::sum_of(std::size_t number) const {
  return sums_.begin() + number * sizeof(std::uint64_t);
}

void Seals::lend_key() {
  lent_->first = key_.first;
  lent_->second = key_.second;
  if (taken_) {
    sums_.fill(sums_.begin(), sum_of(most_ + 1), 0);
    taken_ = false;
  }
}

void Seals::keep(Address from, Address to, std::uint64_t bytes) {
  const auto number = numbers_.emplace(to, seals_.size()).first->second;
  if (number == seals_.size()) {
    seals_.emplace_back();
  }
  const auto place = copies_++ << 32;  // Words of one copy are fewer.
  seals_[number] = {to, bytes, place, 0, true};
  device_.launch("ouroboros_keep", device_.multiprocessors() * 2, 1024, 0, from, to, bytes,
                 lent_.address(), place, sum_of(number));
}

void Seals::compare(Address with, Address kept, Address counter) const {
  const auto& seal = seals_.at(numbers_.at(kept));
  device_.launch("ouroboros_compare", device_.multiprocessors() * 2, 1024, 0, with, kept,
                 seal.bytes, lent_.address(), seal.place, counter);
}

void Seals::reveal(Address kept, Address to) const {
  const auto number = numbers_.find(kept);
  if (number == numbers_.end()) {
    return;
  }
  const auto& seal = seals_[number->second];
  device_.launch("ouroboros_keep", device_.multiprocessors() * 2, 1024, 0, kept, to, seal.bytes,
                 lent_.address(), seal.place, sum_of(most_));
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
  lent_->first = 0;
  lent_->second = 0;
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
  lend_key();
  for (std::size_t i = 0; i < seals_.size(); ++i) {
    const auto& seal = seals_[i];
    device_.launch("ouroboros_keep", device_.multiprocessors() * 2, 1024, 0, seal.at, Address{0},
                   seal.bytes, lent_.address(), seal.place, sum_of(i));
  }
  device_.wait(Clock::now() + patience);
  close();
  return std::ranges::equal(take_sums(), seals_, {}, {}, &Seal::sum);
}

}  // namespace ouroboros::cuda
