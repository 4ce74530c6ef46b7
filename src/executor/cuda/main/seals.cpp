#include "executor/cuda/main/seals.hpp"

#include <cstddef>
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
      key_(fresh_key()),
      lent_(device),
      most_(most),
      sums_(device, most * sizeof(Sums)) {}

void Seals::lend_key() {
  lent_->first = key_.first;
  lent_->second = key_.second;
  // Whatever stands there now may be somebody else's.
  sums_.fill(sums_.begin(), sums_.begin() + most_ * sizeof(Sums), 0);
}

void Seals::add_up(std::size_t number, Address from, Address to, bool sealed, Address sum) {
  const auto& seal = seals_[number];
  device_.launch("ouroboros_seal", device_.multiprocessors() * 2, 1024, 0, from, to, seal.bytes,
                 lent_.address(), seal.place, sum, std::uint32_t{sealed});
}

void Seals::look(std::size_t number, Address from, Address to, bool sealed) {
  add_up(number, from, to, sealed, sums_.begin() + number * sizeof(Sums) + offsetof(Sums, found));
  seals_[number].looked = true;
}

void Seals::keep(Address from, Address to, std::uint64_t bytes) {
  const auto number = numbers_.emplace(to, seals_.size()).first->second;
  if (number == seals_.size()) {
    seals_.emplace_back();
  }
  auto& seal = seals_[number];
  seal.at = to;
  seal.bytes = bytes;
  seal.place = copies_++ << 32;  // Words of one copy are fewer.
  seal.fresh = true;
  add_up(number, from, to, false, sums_.begin() + number * sizeof(Sums) + offsetof(Sums, made));
}

void Seals::compare(Address with, Address kept) { look(numbers_.at(kept), with, 0, false); }

void Seals::reveal(Address kept, Address to) {
  if (const auto number = numbers_.find(kept); number != numbers_.end()) {
    look(number->second, kept, to, true);
  }
}

bool Seals::close() {
  lent_->first = 0;
  lent_->second = 0;
  if (seals_.empty()) {
    return true;
  }
  std::vector<Sums> sums(seals_.size());
  const auto& driver = device_.driver();
  driver.check(driver.cuMemcpyDtoH(sums.data(), sums_.begin(), sums.size() * sizeof(Sums)),
               "cuMemcpyDtoH");
  bool same = true;
  for (std::size_t i = 0; i < seals_.size(); ++i) {
    auto& seal = seals_[i];
    same = same && (!seal.looked || sums[i].found == seal.sum);
    if (seal.fresh) {
      seal.sum = sums[i].made;
    }
    seal.fresh = seal.looked = false;
  }
  return same;
}

bool Seals::intact() {
  lend_key();
  for (std::size_t i = 0; i < seals_.size(); ++i) {
    look(i, seals_[i].at, 0, true);
  }
  device_.wait(Clock::now() + patience);
  return close();
}

}  // namespace ouroboros::cuda
