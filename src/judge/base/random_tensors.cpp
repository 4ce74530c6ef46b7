#include "judge/base/random_tensors.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

#include <algorithm>

#include "judge/base/random.hpp"
#include "judge/base/tensors.hpp"

namespace ouroboros::judge::random {
namespace {

/// A shift that brings in zeros: that of signed integers brings in the sign.
at::Tensor shifted_right(const at::Tensor& z, int by) {
  const auto kept = static_cast<std::int64_t>(~std::uint64_t{0} >> by);
  return z.bitwise_right_shift(at::Scalar(by)).bitwise_and_(at::Scalar(kept));
}

at::Tensor times(at::Tensor z, std::uint64_t factor) {
  return z.mul_(at::Scalar(static_cast<std::int64_t>(factor)));
}

/// `random::mix` of each element.
at::Tensor mixed(at::Tensor z) {
  z = times(z.bitwise_xor_(shifted_right(z, 30)), 0xbf58476d1ce4e5b9ULL);
  z = times(z.bitwise_xor_(shifted_right(z, 27)), 0x94d049bb133111ebULL);
  return z.bitwise_xor_(shifted_right(z, 31));
}

at::Tensor centred_sums(const at::Tensor& h) {
  constexpr std::int64_t lanes = 0x0000ffff0000ffffLL;
  const auto pairs = h.bitwise_and(at::Scalar(lanes)) +
                     h.bitwise_right_shift(at::Scalar(16)).bitwise_and_(at::Scalar(lanes));
  const auto low = pairs.bitwise_and(at::Scalar(std::int64_t{0xffffffff}));
  return low.add_(shifted_right(pairs, 32)).sub_(at::Scalar(mean_of_sum));
}

at::Tensor normals(std::uint64_t key, std::int64_t first, std::int64_t count, at::Device device,
                   bool wide) {
  const auto sums = centred_sums(bits(key, first, count, device));
  if (!wide) {
    return sums.to(at::kFloat).mul_(static_cast<float>(1.0 / standard_deviation));
  }
  const auto low = shifted_right(bits(mix(~key), first, count, device), 32);
  const auto whole = sums.bitwise_left_shift(at::Scalar(32)).add_(low);
  return whole.to(at::kDouble).mul_(0x1p-32 / standard_deviation);
}

/// Copies what `make` gives for [first, first + count) into a tensor, part by part.
template <typename Make>
void fill(const at::Tensor& into, Make&& make) {
  const auto flat = into.view(-1);
  for (std::int64_t first = 0; first < flat.numel(); first += elements_at_once) {
    const auto count = std::min(elements_at_once, flat.numel() - first);
    flat.narrow(0, first, count).copy_(make(first, count));
  }
}

}  // namespace

at::Tensor bits(std::uint64_t key, std::int64_t first, std::int64_t count, at::Device device) {
  return bits(
      key, at::arange(first, first + count, at::TensorOptions().dtype(at::kLong).device(device)));
}

at::Tensor bits(std::uint64_t key, const at::Tensor& positions) {
  return mixed(times(positions + 1, step).add_(at::Scalar(static_cast<std::int64_t>(key))));
}

void fill_normal(std::uint64_t key, const at::Tensor& into) {
  const bool wide = into.scalar_type() == at::kDouble;
  fill(into, [&](std::int64_t first, std::int64_t count) {
    return normals(key, first, count, into.device(), wide);
  });
}

void fill_uniform(std::uint64_t key, const at::Tensor& into) {
  fill(into, [&](std::int64_t first, std::int64_t count) {
    const auto whole = shifted_right(bits(key, first, count, into.device()), 11);
    return whole.to(at::kDouble).mul_(0x1p-52).sub_(1.0);
  });
}

void fill_below(std::uint64_t key, std::uint64_t bound, const at::Tensor& into) {
  fill(into, [&](std::int64_t first, std::int64_t count) {
    const auto high = shifted_right(bits(key, first, count, into.device()), 32);
    return shifted_right(times(high, bound), 32);
  });
}

}  // namespace ouroboros::judge::random
