#include <cmath>
#include <numeric>
#include <utility>

#include "ouroboros/timing.hpp"
#include "timing/require.hpp"

namespace ouroboros::timing {
namespace {

/// A uniform integer in [0, bound). Unlike std::uniform_int_distribution it gives the same sequence
/// with every standard library, so that a logged seed replays the same order everywhere.
std::uint64_t uniform_below(std::uint64_t bound, std::mt19937_64& random) {
  const std::uint64_t remainder = (0 - bound) % bound;  // 2^64 mod bound
  std::uint64_t draw = random();
  while (draw < remainder) draw = random();  // what is left is a whole multiple of bound
  return draw % bound;
}

}  // namespace

BlockOrder::BlockOrder(std::size_t arms, std::uint64_t seed) : arms_(arms), random_(seed) {
  require(arms > 0, "a block needs at least one arm");
  std::iota(arms_.begin(), arms_.end(), std::size_t{0});
}

std::vector<std::size_t> BlockOrder::next() {
  for (std::size_t i = arms_.size(); i > 1; --i) {
    std::swap(arms_[i - 1], arms_[uniform_below(i, random_)]);
  }
  std::vector<std::size_t> order;
  order.reserve(2 * arms_.size());
  order.assign(arms_.begin(), arms_.end());
  order.insert(order.end(), arms_.rbegin(), arms_.rend());
  return order;
}

double block_log_ratio(double candidate_1, double candidate_2, double baseline_1,
                       double baseline_2) noexcept {
  return 0.5 * ((std::log(candidate_1) - std::log(baseline_1)) +
                (std::log(candidate_2) - std::log(baseline_2)));
}

}  // namespace ouroboros::timing
