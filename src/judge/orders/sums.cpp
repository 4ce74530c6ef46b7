#include "judge/orders/sums.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "judge/base/random.hpp"
#include "judge/orders/rows.hpp"
#include "judge/orders/walk.hpp"
#include "judge/orders/welford.hpp"

namespace ouroboros::judge {
namespace {

/// Of each row what its numbers come to, joined one after the other, from `none` on.
template <typename T, typename Joined>
void join_rows(const T* terms, T* results, std::int64_t rows, std::int64_t count, Walk walk, T none,
               Joined joined) {
  for (std::int64_t row = 0; row < rows; ++row, terms += count) {
    T result = none;
    for (std::int64_t i = 0, at = walk.first; i < count;) {
      T part = none;
      for (const auto end = std::min(i + longest_loop, count); i < end; ++i) {
        part = joined(part, terms[at]);
        at += walk.step;
        if (at >= count) at -= count;
      }
      result = joined(result, part);
    }
    results[row] = result;
  }
}

/// Of each row whose product leaves the range in parts, though the whole of it is within, makes it
/// infinite: over a stretch of the walk, or, where the whole is nothing, over any of its numbers.
/// Who joins such parts has infinity there, or NaN.
template <typename T>
void leave_range(const T* terms, T* products, std::int64_t rows, std::int64_t count, Walk walk) {
  constexpr T one = 1;
  for (std::int64_t row = 0; row < rows; ++row, terms += count) {
    const auto whole = std::fabs(products[row]);
    if (!std::isfinite(whole)) continue;
    T stretch = one;
    T most = one;
    bool left = false;
    for (std::int64_t i = 0, at = walk.first; i < count; ++i) {
      const auto size = std::fabs(terms[at]);
      stretch = std::max(one, stretch * size);
      most *= std::max(one, size);
      left = left || std::isinf(stretch);
      at += walk.step;
      if (at >= count) at -= count;
    }
    if (left || (whole < std::numeric_limits<T>::min() && std::isinf(most))) {
      products[row] = std::numeric_limits<T>::infinity();
    }
  }
}

/// What `make` makes of the rows of `x` along `dims`, which stay, with an extent of one. It is
/// given the numbers, where results go, how many rows there are, and of how many numbers each.
template <typename Make>
at::Tensor made_of_rows(const at::Tensor& x, const Extents& dims, Make make) {
  const auto rows = rows_of(x, dims);
  auto out = at::empty(rows.kept, x.options());
  const auto call = [&]<typename T>(T* results) {
    make(rows.terms.const_data_ptr<T>(), results, out.numel(), count_of(x, dims));
  };
  x.scalar_type() == at::kFloat ? call(out.mutable_data_ptr<float>())
                                : call(out.mutable_data_ptr<double>());
  return out;
}

at::Tensor plain_sums(const at::Tensor& x, const Extents& dims, int order) {
  return made_of_rows(
      x, dims,
      [order]<typename T>(const T* terms, T* results, std::int64_t rows, std::int64_t count) {
        join_rows(terms, results, rows, count, walk_of(order, count), T{0}, std::plus<>());
      });
}

/// A factor from 1/2 to 1 for each row, by which its terms may be multiplied before they are added
/// up: whoever normalises afterwards adds other numbers, with roundings of their own. Equal terms
/// would round alike in any order.
at::Tensor row_factors(const Extents& kept, const at::TensorOptions& options, int order) {
  auto factors = at::empty(kept, options.dtype(at::kDouble));
  auto* values = factors.mutable_data_ptr<double>();
  const auto key = random::key(0, static_cast<std::uint64_t>(order));
  for (std::int64_t row = 0; row < factors.numel(); ++row) {
    const auto bits = random::bits(key, static_cast<std::uint64_t>(row));
    values[row] = 0.5 + 0.5 * std::ldexp(static_cast<double>(bits >> 11), -53);
  }
  return factors.to(options.dtype());
}

/// The means, and the sums of the squares of what the numbers are away from them.
std::pair<at::Tensor, at::Tensor> deviations(const at::Tensor& x, const Extents& dims, int order) {
  if (!in_one_pass(x, order)) {
    auto mean = means(x, dims, order);
    auto squares = sums((x - mean).square(), dims, order);
    return {std::move(mean), std::move(squares)};
  }
  auto made = comoments_in_one_pass(x, x, dims);
  return {std::move(made.mean), std::move(made.products)};
}

}  // namespace

bool can_be_added(const at::Tensor& x) {
  return x.defined() && x.is_cpu() && x.dim() > 0 &&
         (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble);
}

at::Tensor sums(const at::Tensor& x, const Extents& dims, int order) {
  if (order == 0) return plain_sums(x, dims, order);
  auto kept = x.sizes().vec();
  for (const auto dim : dims) kept[static_cast<std::size_t>(dim)] = 1;
  const auto factors = row_factors(kept, x.options(), order);
  return plain_sums(x * factors, dims, order) / factors;
}

at::Tensor means(const at::Tensor& x, const Extents& dims, int order) {
  return sums(x, dims, order).div_(count_of(x, dims));
}

at::Tensor plain_products(const at::Tensor& x, const Extents& dims, int order) {
  return made_of_rows(
      x, dims,
      [order]<typename T>(const T* terms, T* results, std::int64_t rows, std::int64_t count) {
        const auto walk = walk_of(order, count);
        join_rows(terms, results, rows, count, walk, T{1}, std::multiplies<>());
        leave_range(terms, results, rows, count, walk);
      });
}

bool in_one_pass(const at::Tensor& x, int order) {
  return order == orders - 1 && x.numel() > 0 && x.isfinite().all().item().toBool();
}

Moments moments(const at::Tensor& x, const Extents& dims, double correction, int order) {
  const auto [mean, squares] = deviations(x, dims, order);
  const auto divisor = static_cast<double>(count_of(x, dims)) - correction;
  return {mean, squares / std::max(divisor, 0.0)};
}

}  // namespace ouroboros::judge
