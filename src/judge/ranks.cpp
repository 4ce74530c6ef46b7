#include "judge/ranks.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>

#include <algorithm>

namespace ouroboros::judge {
namespace {

/// Whether two that follow one another along `dim` are equal, for each row.
at::Tensor repeats(const at::Tensor& sorted, std::int64_t dim) {
  const auto last = std::max<std::int64_t>(sorted.size(dim) - 1, 0);
  return sorted.narrow(dim, 0, last)
      .eq(sorted.narrow(dim, sorted.size(dim) - last, last))
      .any(dim, true);
}

at::Tensor sorted(const at::Tensor& tensor, std::int64_t dim) {
  return std::get<0>(tensor.sort(dim));
}

}  // namespace

Ranks ranks_of(const at::Tensor& output, const std::vector<Ranks>& found) {
  for (const auto& one : found) {
    if (one.places.dim() != output.dim() && one.places.dim() != output.dim() + 1) continue;
    const auto shaped = output.dim() < one.places.dim() ? output.unsqueeze(one.dim) : output;
    const auto count = shaped.size(one.dim);
    if (count > one.places.size(one.dim)) continue;
    const auto places = one.places.narrow(one.dim, 0, count);
    if (!places.equal(shaped)) continue;
    if (!repeats(sorted(one.numbers, one.dim), one.dim).any().item().toBool()) continue;
    return {one.numbers, places.contiguous(), one.dim};
  }
  return {};
}

at::Tensor without_ties(const at::Tensor& got, const Ranks& ranks) {
  const auto given = got.to(at::kLong).view(ranks.places.sizes());
  const auto last = ranks.numbers.size(ranks.dim) - 1;
  const auto here = ranks.numbers.gather(ranks.dim, given.clamp(0, last));
  const auto wanted = ranks.numbers.gather(ranks.dim, ranks.places);
  const auto right = here.eq(wanted)
                         .logical_and_(given.ge(0))
                         .logical_and_(given.le(last))
                         .logical_and_(repeats(sorted(given, ranks.dim), ranks.dim).logical_not());
  return at::where(right, ranks.places, given).to(got.scalar_type()).view(got.sizes());
}

}  // namespace ouroboros::judge
