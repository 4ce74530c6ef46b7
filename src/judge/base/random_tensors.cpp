#include "judge/base/random_tensors.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

#include <algorithm>
#include <functional>
#include <vector>

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

/// The bits of each key, in rows.
at::Tensor bits_of_all(std::span<const std::uint64_t> keys, std::int64_t first, std::int64_t count,
                       at::Device device) {
  if (keys.size() == 1) return bits(keys.front(), first, count, device).unsqueeze(0);
  auto column = empty({static_cast<std::int64_t>(keys.size()), 1}, at::kLong);
  std::ranges::copy(keys, static_cast<std::uint64_t*>(column.mutable_data_ptr()));
  const auto places =
      at::arange(first + 1, first + count + 1, at::TensorOptions().dtype(at::kLong).device(device));
  return mixed(times(places, step) + column.to(device));
}

/// Copies what `make` gives of each key's bits into its tensor, part by part.
void fill(std::span<const std::uint64_t> keys, std::span<const at::Tensor> into,
          const std::function<at::Tensor(std::int64_t first, std::int64_t count)>& make) {
  std::vector<at::Tensor> flat;
  for (const auto& one : into) flat.push_back(one.view(-1));
  const auto elements = flat.front().numel();
  const auto most =
      std::max<std::int64_t>(elements_at_once / static_cast<std::int64_t>(keys.size()), 1);
  for (std::int64_t first = 0; first < elements; first += most) {
    const auto count = std::min(most, elements - first);
    const auto made = make(first, count);
    for (std::size_t i = 0; i < flat.size(); ++i) {
      flat[i].narrow(0, first, count).copy_(made.select(0, static_cast<std::int64_t>(i)));
    }
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

void fill_normal(std::span<const std::uint64_t> keys, std::span<const at::Tensor> into) {
  const auto device = into.front().device();
  if (into.front().scalar_type() != at::kDouble) {
    return fill(keys, into, [&](std::int64_t first, std::int64_t count) {
      const auto sums = centred_sums(bits_of_all(keys, first, count, device));
      return sums.to(at::kFloat).mul_(static_cast<float>(1.0 / standard_deviation));
    });
  }
  std::vector<std::uint64_t> low_keys(keys.begin(), keys.end());
  for (auto& key : low_keys) key = mix(~key);
  fill(keys, into, [&](std::int64_t first, std::int64_t count) {
    const auto sums = centred_sums(bits_of_all(keys, first, count, device));
    const auto low = shifted_right(bits_of_all(low_keys, first, count, device), 32);
    const auto whole = sums.bitwise_left_shift(at::Scalar(32)).add_(low);
    return whole.to(at::kDouble).mul_(0x1p-32 / standard_deviation);
  });
}

void fill_uniform(std::span<const std::uint64_t> keys, std::span<const at::Tensor> into) {
  fill(keys, into, [&](std::int64_t first, std::int64_t count) {
    const auto whole = shifted_right(bits_of_all(keys, first, count, into.front().device()), 11);
    return whole.to(at::kDouble).mul_(0x1p-52).sub_(1.0);
  });
}

void fill_below(std::span<const std::uint64_t> keys, std::uint64_t bound,
                std::span<const at::Tensor> into) {
  fill(keys, into, [&](std::int64_t first, std::int64_t count) {
    const auto high = shifted_right(bits_of_all(keys, first, count, into.front().device()), 32);
    return shifted_right(times(high, bound), 32);
  });
}

}  // namespace ouroboros::judge::random
