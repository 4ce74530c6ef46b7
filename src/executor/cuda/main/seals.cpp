#include "executor/cuda/main/seals.hpp"

#include <algorithm>
#include <random>

namespace ouroboros::cuda {
namespace {

constexpr auto patience = std::chrono::seconds{60};

std::uint64_t fresh_key() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

}  // namespace

Seals::Seals(Device& device, std::size_t most)
    : device_(device), sums_(device, most * sizeof(std::uint64_t)) {
  seals_.reserve(most);
}

void Seals::seal(Address from, std::uint64_t bytes) {
  const auto number = numbers_.emplace(from, seals_.size()).first->second;
  if (number == seals_.size()) {
    seals_.emplace_back();
  }
  seals_[number] = {from, bytes, fresh_key(), 0, true};
  enqueue(number);
}

void Seals::enqueue(std::size_t number) {
  const auto& one = seals_[number];
  const Address sum = sums_.begin() + number * sizeof(std::uint64_t);
  sums_.fill(sum, sum + sizeof(std::uint64_t), 0);
  device_.launch("ouroboros_sum", device_.multiprocessors() * 2, 1024, 0, one.from, one.bytes,
                 one.key, sum);
}

std::vector<std::uint64_t> Seals::sums() {
  device_.wait(Clock::now() + patience);
  std::vector<std::uint64_t> found(seals_.size());
  device_.driver().check(device_.driver().cuMemcpyDtoH(found.data(), sums_.begin(),
                                                       found.size() * sizeof(std::uint64_t)),
                         "cuMemcpyDtoH");
  return found;
}

void Seals::fetch() {
  if (std::ranges::none_of(seals_, &Seal::enqueued)) {
    return;
  }
  const auto found = sums();
  for (std::size_t i = 0; i < seals_.size(); ++i) {
    if (seals_[i].enqueued) {
      seals_[i].sum = found[i];
      seals_[i].enqueued = false;
    }
  }
}

bool Seals::intact() {
  if (seals_.empty()) {
    return true;
  }
  for (std::size_t i = 0; i < seals_.size(); ++i) {
    enqueue(i);
  }
  return std::ranges::equal(sums(), seals_, {}, {}, &Seal::sum);
}

}  // namespace ouroboros::cuda
