#include "judge/base/ranks.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <utility>

namespace ouroboros::judge {
namespace {

/// Numbers, and how far what is equal to each may be from it.
struct Numbers {
  at::Tensor values;
  at::Tensor slack;

  [[nodiscard]] Numbers at(std::int64_t dim, const at::Tensor& places) const {
    return {values.gather(dim, places), slack.gather(dim, places)};
  }

  [[nodiscard]] Numbers narrow(std::int64_t dim, std::int64_t first, std::int64_t count) const {
    return {values.narrow(dim, first, count), slack.narrow(dim, first, count)};
  }
};

/// Whether numbers are equal, or as good as.
at::Tensor alike(const Numbers& a, const Numbers& b, double least) {
  const auto close = (a.values - b.values).abs().le(at::maximum(a.slack, b.slack));
  return close.logical_or_(a.values.abs().lt(least).logical_and_(b.values.abs().lt(least)))
      .logical_or_(a.values.eq(b.values));  // Infinities have no difference.
}

/// Two neighbours of each along `dim`: all but the last, and all but the first.
template <typename Rows>
std::pair<Rows, Rows> neighbours(const Rows& sorted, std::int64_t dim, std::int64_t extent) {
  const auto last = std::max<std::int64_t>(extent - 1, 0);
  return {sorted.narrow(dim, 0, last), sorted.narrow(dim, extent - last, last)};
}

bool has_ties(const Ranks& ranks) {
  const auto order = ranks.numbers.argsort(ranks.dim);
  const auto sorted = Numbers{ranks.numbers, ranks.slack}.at(ranks.dim, order);
  const auto [first, second] = neighbours(sorted, ranks.dim, order.size(ranks.dim));
  return alike(first, second, ranks.least).any().item().toBool();
}

/// Whether a place is there twice, for each row along `dim`.
at::Tensor repeats(const at::Tensor& places, std::int64_t dim) {
  const auto sorted = std::get<0>(places.sort(dim));
  const auto [first, second] = neighbours(sorted, dim, sorted.size(dim));
  return first.eq(second).any(dim, true);
}

}  // namespace

Ranks ranks_of(const at::Tensor& output, const std::vector<Ranks>& found) {
  for (const auto& one : found) {
    if (one.places.dim() != output.dim() && one.places.dim() != output.dim() + 1) continue;
    const auto shaped = output.dim() < one.places.dim() ? output.unsqueeze(one.dim) : output;
    const auto count = shaped.size(one.dim);
    for (std::int64_t from = 0; from + count <= one.places.size(one.dim); ++from) {
      const auto places = one.places.narrow(one.dim, from, count);
      if (!places.equal(shaped)) continue;
      auto ranks = one;
      ranks.places = places.contiguous();
      if (has_ties(ranks)) return ranks;
    }
  }
  return {};
}

void take_near_for_equal(Ranks& ranks, double near, bool single) {
  ranks.near = near;
  ranks.least = least_ranked(single);
  ranks.slack = at::zeros_like(ranks.numbers);
  if (!ranks.given) ranks.slack.add_(ranks.numbers.abs(), near).nan_to_num_(0.0, 0.0);
}

at::Tensor without_ties(const at::Tensor& got, const Ranks& ranks) {
  const auto given = got.to(at::kLong).view(ranks.places.sizes());
  const auto last = ranks.numbers.size(ranks.dim) - 1;
  const Numbers numbers{ranks.numbers, ranks.slack};
  const auto here = numbers.at(ranks.dim, given.clamp(0, last));
  auto right = alike(here, numbers.at(ranks.dim, ranks.places), ranks.least)
                   .logical_and_(given.ge(0))
                   .logical_and_(given.le(last))
                   .logical_and_(repeats(given, ranks.dim).logical_not());
  if (ranks.first) {
    const auto chosen = ranks.exact.gather(ranks.dim, given.clamp(0, last));
    const auto same = ranks.exact.eq(chosen).to(at::kInt);
    right.logical_and_(same.argmax(ranks.dim, /*keepdim=*/true).eq(given));
  }
  return at::where(right, ranks.places, given).to(got.scalar_type()).view(got.sizes());
}

}  // namespace ouroboros::judge
