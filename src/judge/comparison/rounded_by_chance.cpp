#include "judge/comparison/rounded_by_chance.hpp"

#include <ATen/TensorOperators.h>

namespace ouroboros::judge {
namespace {

constexpr std::int64_t fewest_twice = 512;
/// Rows of a multiple of so many begin where vectors do: no kernel takes another path for one. And
/// so many numbers are the same by no accident.
constexpr std::int64_t aligned_columns = 64;
constexpr double quarter_unit = 0.25;
/// Of roundings up with the distance for their probability 0.21 differ.
constexpr double least_differing = 0.175;

}  // namespace

std::optional<RoundedByChance> rounded_by_chance(const LastPlaces& places, std::int64_t columns) {
  const auto rows = places.truth.numel() / columns;
  if (rows < 2 || columns % aligned_columns != 0) return std::nullopt;
  const auto first = [&](const at::Tensor& all) {
    return all.narrow(0, 0, (rows - 1) * columns).view({rows - 1, columns});
  };
  const auto next = [&](const at::Tensor& all) {
    return all.narrow(0, columns, (rows - 1) * columns).view({rows - 1, columns});
  };
  const auto alike = first(places.truth).eq(next(places.truth)).all(-1, /*keepdim=*/true);
  if (!alike.any().item().toBool()) return std::nullopt;
  // A row of one number may come of another one, as a softmax of it does.
  const auto varies = first(places.truth).ne(first(places.truth).roll(1, -1));
  const auto distance = first(places.nearest).abs();
  const auto told = varies.logical_and(alike)
                        .logical_and_(first(places.told))
                        .logical_and_(next(places.told))
                        .logical_and_(distance.gt(0.0))
                        .logical_and_(distance.le(quarter_unit));
  const auto count = told.sum().item().toLong();
  if (count < fewest_twice) return std::nullopt;
  const auto other = first(places.candidate).ne(next(places.candidate)).logical_and_(told);
  const auto differ = other.sum().item().toLong();
  if (static_cast<double>(differ) < least_differing * static_cast<double>(count)) {
    return std::nullopt;
  }
  return RoundedByChance{count, differ};
}

}  // namespace ouroboros::judge
