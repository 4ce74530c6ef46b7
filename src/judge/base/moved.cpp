#include "judge/base/moved.hpp"

#include <ATen/ops/where.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "judge/base/random.hpp"
#include "judge/base/random_tensors.hpp"
#include "judge/base/tensors.hpp"

namespace ouroboros::judge {
namespace {

/// Equal numbers of two inputs are to move alike.
std::uint64_t key_of_moves(Moves moves, std::uint64_t seed, std::size_t input) {
  return random::key(seed, moves == Moves::by_value ? 0 : input);
}

}  // namespace

Tensors raise(const Tensors& inputs) {
  Tensors out;
  out.reserve(inputs.size());
  for (const auto& input : inputs) {
    // A copy in any case: an oracle that writes to its inputs must not reach the originals.
    out.push_back(input.is_floating_point() ? input.to(at::kDouble, false, true) : input.clone());
  }
  return out;
}

Tensors moved(const Tensors& inputs, double by, Moves moves, std::uint64_t seed) {
  if (!place_of(inputs).is_cpu()) return moved_by_operators(inputs, by, moves, seed);
  auto out = raise(inputs);
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (!out[k].is_floating_point() || is_mask(out[k])) continue;
    const auto key = key_of_moves(moves, seed, k);
    const auto count = out[k].numel();
    auto* values = out[k].mutable_data_ptr<double>();
    if (moves == Moves::together || moves == Moves::up) {
      // Zeros keep their sign.
      for (std::int64_t i = 0; i < count; ++i) {
        values[i] *= moves == Moves::up && values[i] < 0.0 ? 1.0 - by : 1.0 + by;
      }
      continue;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const auto place = moves == Moves::by_value
                             ? std::bit_cast<std::uint64_t>(std::fabs(values[i]))
                             : static_cast<std::uint64_t>(i);
      const auto bits = random::bits(key, place);
      const double far = static_cast<double>(bits & 0xffff) * (by * 0x1p-17) + 0.75 * by;
      // No branch: half of them would be foretold wrongly.
      constexpr std::uint64_t sign = std::uint64_t{1} << 63;
      values[i] *= 1.0 + std::bit_cast<double>(std::bit_cast<std::uint64_t>(far) ^ (~bits & sign));
    }
  }
  return out;
}

Tensors moved_by_operators(const Tensors& inputs, double by, Moves moves, std::uint64_t seed) {
  auto out = raise(inputs);
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (!out[k].is_floating_point() || is_mask(out[k])) continue;
    if (moves == Moves::together || moves == Moves::up) {
      if (moves == Moves::up) {
        out[k].mul_(out[k].sign().mul_(by).add_(1.0));
      } else {
        out[k].mul_(1.0 + by);
      }
      continue;
    }
    const auto key = key_of_moves(moves, seed, k);
    const auto flat = out[k].view(-1);
    const auto drawn = moves == Moves::by_value ? random::bits(key, flat.abs().view(at::kLong))
                                                : random::bits(key, 0, flat.numel(), flat.device());
    auto factors = drawn.bitwise_and(0xffff).to(at::kDouble).mul_(by * 0x1p-17).add_(0.75 * by);
    factors = at::where(drawn.lt(0), factors, -factors).add_(1.0);
    flat.mul_(factors);
  }
  return out;
}

}  // namespace ouroboros::judge
