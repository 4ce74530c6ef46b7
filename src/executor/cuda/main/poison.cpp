#include "executor/cuda/main/poison.hpp"

#include <iterator>
#include <random>

namespace ouroboros::cuda {

std::uint32_t random_bits() {
  static std::mt19937 random{std::random_device{}()};
  return static_cast<std::uint32_t>(random());
}

std::uint32_t fresh_pattern() { return 0x7fc00000U | (random_bits() & 0x003fffffU); }

std::uint32_t fresh_number() {
  // Zero, much, much below zero and about one as real numbers; then whole ones.
  constexpr std::uint32_t words[] = {0, 0x7b7b7b7bU, 0xfbfbfbfbU, 0x3f3f3f3fU,
                                     1, 0xffffffffU, 0x7fffffffU, 0x80000000U};
  return words[random_bits() % std::size(words)];
}

std::uint32_t fresh_poison() { return random_bits() % 2 == 0 ? fresh_pattern() : fresh_number(); }

}  // namespace ouroboros::cuda
