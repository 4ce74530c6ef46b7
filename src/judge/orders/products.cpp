#include "judge/orders/products.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "judge/base/moved.hpp"
#include "judge/base/random.hpp"
#include "judge/orders/arguments.hpp"
#include "judge/orders/convolutions.hpp"
#include "judge/orders/given.hpp"
#include "judge/orders/sums.hpp"
#include "judge/orders/walk.hpp"

namespace ouroboros::judge {
namespace {

/// Some seconds of a processor's time.
constexpr std::int64_t most_products = std::int64_t{1} << 31;

/// Tensor cores cut off after four to sixteen terms, three times where a product is made of three
/// of TF32: eight times what parts of this many lose is a third more than that (Tolerance).
constexpr std::int64_t part_terms = 8;

/// The float next to `value` towards zero, unless it is one.
float cut_off(double value) {
  auto nearest = static_cast<float>(value);
  if (std::abs(static_cast<double>(nearest)) > std::abs(value)) {
    nearest = std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) - 1);
  }
  return nearest;
}

/// A matrix product of row-major (rows, count) and (count, columns), added to zeroes.
struct Shape {
  std::int64_t rows, count, columns;
};

template <typename T>
void add_products(const T* a, const T* b, T* sums, Shape shape, Walk walk) {
  for (std::int64_t row = 0; row < shape.rows; ++row, a += shape.count, sums += shape.columns) {
    for (std::int64_t i = 0, at = walk.first; i < shape.count; ++i) {
      const T factor = a[at];
      const T* terms = b + at * shape.columns;
      for (std::int64_t j = 0; j < shape.columns; ++j) sums[j] += factor * terms[j];
      at += walk.step;
      if (at >= shape.count) at -= shape.count;
    }
  }
}

/// A row of a product, in parts that are cut off when they are added, and what it is without that.
struct CutOffRow {
  std::vector<float> sums;
  std::vector<double> truth;
};

CutOffRow cut_off_row(const float* a, const float* b, Shape shape, Walk walk) {
  const auto columns = static_cast<std::size_t>(shape.columns);
  CutOffRow row{std::vector<float>(columns), std::vector<double>(columns)};
  std::vector<double> part(columns);
  for (std::int64_t i = 0, at = walk.first; i < shape.count;) {
    std::ranges::fill(part, 0.0);
    for (const auto end = std::min(i + part_terms, shape.count); i < end; ++i) {
      const double factor = a[at];
      const float* terms = b + at * shape.columns;
      for (std::size_t j = 0; j < columns; ++j) part[j] += factor * static_cast<double>(terms[j]);
      at += walk.step;
      if (at >= shape.count) at -= shape.count;
    }
    for (std::size_t j = 0; j < columns; ++j) {
      row.truth[j] += part[j];
      row.sums[j] = cut_off(static_cast<double>(row.sums[j]) + part[j]);
    }
  }
  return row;
}

/// On the walk there or back, whichever loses more of a sum: a large term that is met first is
/// there whenever something is cut off, and one that is met last never.
void add_parts(const float* a, const float* b, float* sums, Shape shape, Walk walk) {
  for (std::int64_t row = 0; row < shape.rows; ++row, a += shape.count, sums += shape.columns) {
    const auto there = cut_off_row(a, b, shape, walk);
    const auto back = cut_off_row(a, b, shape, reversed(walk, shape.count));
    for (std::size_t j = 0; j < there.sums.size(); ++j) {
      const auto lost = [&](float sum) { return std::fabs(sum - there.truth[j]); };
      sums[j] = lost(there.sums[j]) < lost(back.sums[j]) ? back.sums[j] : there.sums[j];
    }
  }
}

at::Tensor off_by_roundings(const at::Tensor& factor, int order) {
  if (order == 0 || factor.scalar_type() != at::kFloat) return factor.contiguous();
  constexpr double rounding = 0x1p-24;
  const auto key = random::key(0, static_cast<std::uint64_t>(order));
  return moved({factor.contiguous()}, rounding, Moves::by_place, key).front().to(at::kFloat);
}

/// Of matrices, or of as many of them: (batch, rows, count) and (batch, count, columns).
std::optional<at::Tensor> batches(const at::Tensor& first, const at::Tensor& second, int order) {
  const Shape shape{first.size(1), first.size(2), second.size(2)};
  const auto batch = first.size(0);
  if (second.size(0) != batch || second.size(1) != shape.count ||
      first.scalar_type() != second.scalar_type()) {
    return std::nullopt;
  }
  const double products = static_cast<double>(batch) * static_cast<double>(shape.rows) *
                          static_cast<double>(shape.count) * static_cast<double>(shape.columns);
  if (products > static_cast<double>(most_products)) return std::nullopt;
  const auto a = off_by_roundings(first, order);
  const auto b = second.contiguous();
  auto out = at::zeros({batch, shape.rows, shape.columns}, first.options());
  const auto walk = walk_of(order, shape.count);
  const auto each = [&]<typename T>(auto&& add, T) {
    for (std::int64_t one = 0; one < batch; ++one) {
      add(a.const_data_ptr<T>() + one * shape.rows * shape.count,
          b.const_data_ptr<T>() + one * shape.count * shape.columns,
          out.mutable_data_ptr<T>() + one * shape.rows * shape.columns, shape, walk);
    }
  };
  if (first.scalar_type() == at::kDouble) {
    each(add_products<double>, 0.0);
  } else {
    each(order % 2 == 0 ? add_products<float> : add_parts, 0.0F);
  }
  return out;
}

}  // namespace

std::optional<at::Tensor> product_in_order(const at::Tensor& first, const at::Tensor& second,
                                           int order) {
  if (!can_be_added(first) || !can_be_added(second)) return std::nullopt;
  if (first.dim() == 3 && second.dim() == 3) return batches(first, second, order);
  if (first.dim() > 2 || second.dim() > 2) return std::nullopt;
  const auto left = first.dim() == 1 ? first.unsqueeze(0) : first;
  const auto right = second.dim() == 1 ? second.unsqueeze(1) : second;
  auto made = batches(left.unsqueeze(0), right.unsqueeze(0), order);
  if (!made) return std::nullopt;
  Extents shape;
  if (first.dim() == 2) shape.push_back(first.size(0));
  if (second.dim() == 2) shape.push_back(second.size(1));
  return made->view(shape);
}

namespace {

/// `product` times one of the operator's scales, and what is added to it times the other.
std::optional<at::Tensor> with_added(const Given& given, const at::Tensor& first,
                                     const at::Tensor& second) {
  const auto made = product_in_order(first, second, given.order);
  const auto self = given.tensor("self");
  if (!made || !self.defined()) return std::nullopt;
  const double alpha = given.number("alpha", 1.0);
  const double beta = given.number("beta", 1.0);
  const auto scaled = alpha == 1.0 ? *made : *made * alpha;
  return beta == 0.0 ? scaled : (beta == 1.0 ? self : self * beta) + scaled;
}

/// Euclidean distances of points (..., n, d) and (..., m, d) by |x|^2 + |y|^2 - 2 x y, which
/// LibTorch takes where there are more than 25 of either, and a kernel for any number. That loses
/// what near points differ by.
std::optional<at::Tensor> distances(const Given& given) {
  const auto x = given.tensor("x1");
  const auto y = given.tensor("x2");
  if (!x.defined() || !y.defined() || x.dim() != y.dim() || given.number("p", 2.0) != 2.0 ||
      given.whole("compute_mode", 0) == by_differences) {
    return std::nullopt;
  }
  const auto squares = [&](const at::Tensor& points) {
    const auto rows = points.square().reshape({-1, points.size(-1)});
    return product_in_order(rows, at::ones({points.size(-1)}, points.options()), given.order);
  };
  const auto products = product_in_order(x, y.transpose(-1, -2), given.order);
  if (!products) return std::nullopt;
  const auto of_x = squares(x)->view(x.sizes().slice(0, x.dim() - 1)).unsqueeze(-1);
  const auto of_y = squares(y)->view(y.sizes().slice(0, y.dim() - 1)).unsqueeze(-2);
  return (of_x + of_y - 2 * *products).clamp_min_(0).sqrt_();
}

}  // namespace

bool multiplies_matrices(std::string_view name) {
  return is_one_of(name, {"mm", "bmm", "matmul", "linear", "addmm", "baddbmm", "einsum", "mv",
                          "tensordot", "inner", "conv1d", "conv2d", "conv3d", "convolution"});
}

std::optional<at::Tensor> product_by_loops(std::string_view name, const c10::FunctionSchema& schema,
                                           const torch::jit::Stack& stack, int order) {
  const Given given(schema, stack, order);
  if (name == "mm" || name == "bmm") {
    return product_in_order(given.tensor("self"), given.tensor("mat2"), order);
  }
  if (name == "mv") return product_in_order(given.tensor("self"), given.tensor("vec"), order);
  if (name == "dot") return product_in_order(given.tensor("self"), given.tensor("tensor"), order);
  if (name == "addmm") return with_added(given, given.tensor("mat1"), given.tensor("mat2"));
  if (name == "baddbmm") {
    return with_added(given, given.tensor("batch1"), given.tensor("batch2"));
  }
  if (name == "addmv") return with_added(given, given.tensor("mat"), given.tensor("vec"));
  if (name == "convolution") return convolution_in_order(given);
  if (name == "cdist") return distances(given);
  return std::nullopt;
}

}  // namespace ouroboros::judge
