#include <cmath>
#include <limits>

#include "ouroboros/timing.hpp"
#include "timing/require.hpp"

namespace ouroboros::timing {
namespace {

constexpr std::size_t kEnumerated = 16;  ///< Up to so many blocks every sign vector is tried.
constexpr int kDraws = 20000;

}  // namespace

double sign_flip_p_value(std::span<const double> block_log_ratios, std::uint64_t seed) {
  require(!block_log_ratios.empty(), "a sign-flip test needs at least one block");
  require_finite(block_log_ratios);
  const std::size_t n = block_log_ratios.size();
  double seen = 0.0;
  double scale = 0.0;
  for (const double value : block_log_ratios) {
    seen += value;
    scale += std::abs(value);
  }
  // Sums that are equal on paper differ by rounding with the order of their terms; they are ties.
  const double threshold =
      std::abs(seen) - scale * static_cast<double>(n) * std::numeric_limits<double>::epsilon();

  if (n <= kEnumerated) {
    const std::uint64_t vectors = std::uint64_t{1} << n;
    std::uint64_t extreme = 0;
    for (std::uint64_t signs = 0; signs < vectors; ++signs) {
      double sum = 0.0;
      for (std::size_t i = 0; i < n; ++i) {
        sum += (signs >> i & 1U) != 0 ? -block_log_ratios[i] : block_log_ratios[i];
      }
      if (std::abs(sum) >= threshold) ++extreme;
    }
    return static_cast<double>(extreme) / static_cast<double>(vectors);
  }

  std::mt19937_64 random(seed);
  int extreme = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    double sum = 0.0;
    std::uint64_t signs = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (i % 64 == 0) signs = random();
      // Multiplying by 1 or -1 keeps the loop free of unpredictable branches.
      sum += block_log_ratios[i] * (1.0 - 2.0 * static_cast<double>(signs & 1U));
      signs >>= 1U;
    }
    if (std::abs(sum) >= threshold) ++extreme;
  }
  // The vector that was seen counts as one of the draws: without it the test would be too eager.
  return static_cast<double>(extreme + 1) / static_cast<double>(kDraws + 1);
}

}  // namespace ouroboros::timing
