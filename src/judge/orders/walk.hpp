#pragma once

#include <cstdint>
#include <numeric>

namespace ouroboros::judge {

/// How many orders there are to add in: from the front, from the back, and by strides.
inline constexpr int orders = 4;

/// The numbers 0 to count - 1, each once: first, first + step, ..., modulo count.
struct Walk {
  std::int64_t first = 0;
  std::int64_t step = 1;
};

/// The walk through `count` numbers that belongs to an order (from 0, below `orders`).
inline Walk walk_of(int order, std::int64_t count) {
  if (order == 0 || count < 3) return {};
  if (order == 1) return {count - 1, count - 1};
  // Near the golden section of all, from either side: neighbours in the walk are far apart.
  auto step = static_cast<std::int64_t>(static_cast<double>(count) * (order == 2 ? 0.618 : 0.382));
  while (step < 1 || std::gcd(step, count) != 1) ++step;
  return {count / 2, step % count};
}

/// The same numbers, the last one first.
inline Walk reversed(Walk walk, std::int64_t count) {
  return {(walk.first + (count - 1) * walk.step) % count, count - walk.step};
}

}  // namespace ouroboros::judge
