#include "judge/orders/welford.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>

#include "judge/orders/rows.hpp"
#include "judge/orders/walk.hpp"

namespace ouroboros::judge {
namespace {

/// How many pairs of numbers, their means, and the sum of the products of what they are away from
/// them.
template <typename T>
struct PairMoments {
  T count = 0;
  T mean_x = 0;
  T mean_y = 0;
  T products = 0;
};

/// A row of each tensor.
template <typename T>
struct Pairs {
  std::span<const T> x;
  std::span<const T> y;
};

/// B. P. Welford, "Note on a method for calculating corrected sums of squares and products",
/// Technometrics 4 (1962).
template <typename T>
PairMoments<T> updated(const Pairs<T>& row, Walk walk) {
  PairMoments<T> made;
  auto at = static_cast<std::size_t>(walk.first);
  for (std::size_t i = 0; i < row.x.size(); ++i) {
    made.count += 1;
    const T away = row.x[at] - made.mean_x;
    made.mean_x += away / made.count;
    made.mean_y += (row.y[at] - made.mean_y) / made.count;
    made.products += away * (row.y[at] - made.mean_y);
    at += static_cast<std::size_t>(walk.step);
    if (at >= row.x.size()) at -= row.x.size();
  }
  return made;
}

/// Of two parts: T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise
/// algorithm for computing sample variances", Stanford STAN-CS-79-773 (1979).
template <typename T>
PairMoments<T> together(const PairMoments<T>& a, const PairMoments<T>& b) {
  const T count = a.count + b.count;
  const T apart_x = b.mean_x - a.mean_x;
  const T apart_y = b.mean_y - a.mean_y;
  const T share = b.count / count;
  return {count, a.mean_x + apart_x * share, a.mean_y + apart_y * share,
          a.products + b.products + apart_x * apart_y * a.count * share};
}

template <typename T>
PairMoments<T> of_walk(const Pairs<T>& row, int order) {
  PairMoments<T> all;
  for (std::size_t at = 0; at < row.x.size(); at += longest_loop) {
    const auto length = std::min<std::size_t>(longest_loop, row.x.size() - at);
    const Pairs<T> part{row.x.subspan(at, length), row.y.subspan(at, length)};
    all = together(all, updated(part, walk_of(order, static_cast<std::int64_t>(length))));
  }
  return all;
}

template <typename T>
double true_products(const Pairs<T>& row) {
  const auto mean = [](std::span<const T> of) {
    return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
  };
  const double mean_x = mean(row.x);
  const double mean_y = mean(row.y);
  return std::transform_reduce(row.x.begin(), row.x.end(), row.y.begin(), 0.0, std::plus<>(),
                               [&](double x, double y) { return (x - mean_x) * (y - mean_y); });
}

template <typename T>
PairMoments<T> farthest(const Pairs<T>& row) {
  const double truth = true_products(row);
  std::array<PairMoments<T>, orders> made;
  for (int order = 0; order < orders; ++order) {
    made[static_cast<std::size_t>(order)] = of_walk(row, order);
  }
  return *std::ranges::max_element(made, {}, [truth](const PairMoments<T>& one) {
    return std::abs(static_cast<double>(one.products) - truth);
  });
}

}  // namespace

Comoments comoments_in_one_pass(const at::Tensor& x, const at::Tensor& y, const Extents& dims) {
  const auto first = rows_of(x, dims);
  const auto second = x.is_same(y) ? first : rows_of(y, dims);
  const auto count = static_cast<std::size_t>(count_of(x, dims));
  Comoments out{at::empty(first.kept, x.options()), at::empty(first.kept, x.options())};
  const auto add = [&]<typename T>(T) {
    const auto all = static_cast<std::size_t>(x.numel());
    const std::span xs(first.terms.const_data_ptr<T>(), all);
    const std::span ys(second.terms.const_data_ptr<T>(), all);
    for (std::int64_t row = 0; row < out.mean.numel(); ++row) {
      const auto begin = static_cast<std::size_t>(row) * count;
      const auto found = farthest(Pairs<T>{xs.subspan(begin, count), ys.subspan(begin, count)});
      out.mean.mutable_data_ptr<T>()[row] = found.mean_x;
      out.products.mutable_data_ptr<T>()[row] = found.products;
    }
  };
  x.scalar_type() == at::kFloat ? add(float{}) : add(double{});
  return out;
}

}  // namespace ouroboros::judge
