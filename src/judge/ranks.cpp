#include "judge/ranks.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>

#include <algorithm>

namespace ouroboros::judge {
namespace {

/// Whether numbers are equal, or as good as.
at::Tensor alike(const at::Tensor& a, const at::Tensor& b, double near, double least) {
  const auto close = (a - b).abs().le(b.abs().mul(near));
  return close.logical_or_(a.abs().lt(least).logical_and_(b.abs().lt(least)))
      .logical_or_(a.eq(b));  // Infinities have no difference.
}

/// Whether two that follow one another along `dim` are alike, for each row.
at::Tensor repeats(const at::Tensor& sorted, std::int64_t dim, double near, double least) {
  const auto last = std::max<std::int64_t>(sorted.size(dim) - 1, 0);
  const auto first = sorted.narrow(dim, 0, last);
  const auto second = sorted.narrow(dim, sorted.size(dim) - last, last);
  return alike(first, second, near, least).any(dim, true);
}

at::Tensor sorted(const at::Tensor& tensor, std::int64_t dim) {
  return std::get<0>(tensor.sort(dim));
}

}  // namespace

Ranks ranks_of(const at::Tensor& output, const std::vector<Ranks>& found, double near,
               double least) {
  for (const auto& one : found) {
    if (one.places.dim() != output.dim() && one.places.dim() != output.dim() + 1) continue;
    const auto shaped = output.dim() < one.places.dim() ? output.unsqueeze(one.dim) : output;
    const auto count = shaped.size(one.dim);
    if (count > one.places.size(one.dim)) continue;
    const auto places = one.places.narrow(one.dim, 0, count);
    if (!places.equal(shaped)) continue;
    const double apart = one.given ? 0.0 : near;
    const auto numbers = sorted(one.numbers, one.dim);
    if (!repeats(numbers, one.dim, apart, least).any().item().toBool()) continue;
    return {one.numbers, places.contiguous(), one.dim, one.given, apart, least};
  }
  return {};
}

at::Tensor without_ties(const at::Tensor& got, const Ranks& ranks) {
  const auto given = got.to(at::kLong).view(ranks.places.sizes());
  const auto last = ranks.numbers.size(ranks.dim) - 1;
  const auto here = ranks.numbers.gather(ranks.dim, given.clamp(0, last));
  const auto wanted = ranks.numbers.gather(ranks.dim, ranks.places);
  const auto right =
      alike(here, wanted, ranks.near, ranks.least)
          .logical_and_(given.ge(0))
          .logical_and_(given.le(last))
          .logical_and_(repeats(sorted(given, ranks.dim), ranks.dim, 0.0, 0.0).logical_not());
  return at::where(right, ranks.places, given).to(got.scalar_type()).view(got.sizes());
}

}  // namespace ouroboros::judge
