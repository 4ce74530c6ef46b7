#include "executor/cuda/main/seals.hpp"

#include <random>

namespace ouroboros::cuda {
namespace {

constexpr auto patience = std::chrono::seconds{60};
constexpr std::size_t sums_each = 2;

SealKey fresh_key() {
  std::random_device random;
  const auto half = [&random] { return std::uint64_t{random()} << 32 | random(); };
  return {half(), half(), half(), half()};
}

}  // namespace

Seals::Seals(Device& device, std::size_t most)
    : device_(device),
      key_(fresh_key()),
      lent_(device),
      blocks_(device.multiprocessors() * 2),
      sums_(device, most * sums_each * blocks_) {}

void Seals::lend_key() { lend(key_); }

void Seals::lend(const SealKey& key) {
  lent_->places = key.places;
  lent_->first = key.first;
  lent_->second = key.second;
  lent_->sums = key.sums;
}

void Seals::add_up(std::size_t number, Sum which, Address from, Address to, bool sealed) {
  const auto& seal = seals_[number];
  device_.launch("ouroboros_seal", blocks_, 1024, 0, from, to, seal.bytes, lent_.address(),
                 seal.place, sums_.address() + first_word(number, which) * sizeof(std::uint64_t),
                 std::uint32_t{sealed});
}

std::size_t Seals::first_word(std::size_t number, Sum which) const {
  return (number * sums_each + static_cast<std::size_t>(which)) * blocks_;
}

std::uint64_t Seals::sum(std::size_t number, Sum which) const {
  std::uint64_t sum = 0;
  for (std::size_t block = 0; block < blocks_; ++block) {
    sum += sums_[first_word(number, which) + block];
  }
  return sum;
}

void Seals::look(std::size_t number, Address from, Address to, bool sealed) {
  add_up(number, Sum::found, from, to, sealed);
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
  seal.place = copies_++ << 32;  // One copy has fewer.
  seal.fresh = true;
  add_up(number, Sum::made, from, to, false);
}

void Seals::compare(Address with, Address kept) { look(numbers_.at(kept), with, 0, false); }

void Seals::reveal(Address kept, Address to) {
  if (const auto number = numbers_.find(kept); number != numbers_.end()) {
    look(number->second, kept, to, true);
  }
}

bool Seals::close() {
  lend({});
  bool same = true;
  for (std::size_t i = 0; i < seals_.size(); ++i) {
    auto& seal = seals_[i];
    same = same && (!seal.looked || sum(i, Sum::found) == seal.sum);
    if (seal.fresh) {
      seal.sum = sum(i, Sum::made);
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
