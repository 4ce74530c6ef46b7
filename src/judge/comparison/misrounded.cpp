#include "judge/comparison/misrounded.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/frexp.h>
#include <ATen/ops/unique_consecutive.h>

#include <algorithm>

#include "judge/base/tensors.hpp"

namespace ouroboros::judge {
namespace {

constexpr std::int64_t fewest_near = 1024;
/// Units. Float32 is nowhere another quarter off where one unit is allowed.
constexpr double near_by = 0.25;
constexpr double farthest_nearest = 0.5;

// The share that is too large and too small, twice the smaller of both: a factor that is wrong, or
// an accumulator that is cut off, errs one way. In 16 bits honest kernels round twice, which has
// 0.14 here (in 8 bits nobody computes), and rounding up and down in turn 0.5. By chance, with the
// distance for its probability, it is 1/8, and 3 % in e4m3 have 0.18.
constexpr double least_in_16_bits = 0.4;
constexpr double least_in_8_bits = 0x1p-4;
constexpr double fewest_mantissas = 256.0;  ///< Of a few, most may lie badly for who rounds twice.

/// Of how many different numbers, but for sign and exponent; fewer where some are frequent.
double mantissas(const at::Tensor& numbers) {
  const auto sorted = std::get<0>(std::get<0>(at::frexp(numbers.abs())).sort());
  const auto counts =
      std::get<2>(at::unique_consecutive(sorted, /*return_inverse=*/false, /*return_counts=*/true))
          .to(at::kDouble);
  const auto all = static_cast<double>(numbers.numel());
  return all * all / counts.square().sum().item().toDouble();
}

}  // namespace

std::optional<Misrounded> misrounded(const LastPlaces& places, DType dtype) {
  const auto distance = places.nearest.abs();
  const auto told = distance.gt(0.0).logical_and_(distance.le(near_by)).logical_and_(places.told);
  const auto count = told.sum().item().toLong();
  if (count < fewest_near) return std::nullopt;
  const auto too_large = places.candidate * places.truth.sign();
  const auto wrong = [&](const at::Tensor& errors) {
    return errors.gt(farthest_nearest).logical_and_(told).sum().item().toLong();
  };
  const auto above = wrong(too_large);
  const auto below = wrong(-too_large);
  const bool narrow = size_of(dtype) == 1;
  const double share =
      2.0 * static_cast<double>(std::min(above, below)) / static_cast<double>(count);
  if (share < (narrow ? least_in_8_bits : least_in_16_bits)) return std::nullopt;
  if (!narrow && mantissas(places.truth.masked_select(told)) < fewest_mantissas) {
    return std::nullopt;
  }
  return Misrounded{count, above + below};
}

}  // namespace ouroboros::judge
