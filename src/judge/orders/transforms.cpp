#include "judge/orders/transforms.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/real.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/view_as_complex.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "judge/orders/arguments.hpp"
#include "judge/orders/given.hpp"
#include "judge/orders/products.hpp"

namespace ouroboros::judge {
namespace {

/// Nobody takes a table for much longer rows, or many of them. Some tenths of a second.
constexpr std::int64_t most_in_transform = std::int64_t{1} << 28;

/// Numbers whose last dimension is transformed; `imaginary` is undefined where all are real.
struct Parts {
  at::Tensor real, imaginary;
};

/// cos and sin of 2 pi j k / n, for all j below `rows` and k below `columns`.
struct Table {
  at::Tensor cosines, sines;
};

template <typename T>
Table table(std::int64_t n, std::int64_t rows, std::int64_t columns, bool rounds_angles) {
  const auto options = at::TensorOptions().dtype(c10::CppTypeToScalarType<T>::value);
  Table made{at::empty({rows, columns}, options), at::empty({rows, columns}, options)};
  auto* cosines = made.cosines.template mutable_data_ptr<T>();
  auto* sines = made.sines.template mutable_data_ptr<T>();
  const auto step = 2 * std::numbers::pi / static_cast<double>(n);
  for (std::int64_t j = 0; j < rows; ++j) {
    for (std::int64_t k = 0; k < columns; ++k) {
      const auto turns = j * k % n;
      const double angle = rounds_angles ? static_cast<T>(turns) * static_cast<T>(step)
                                         : static_cast<double>(turns) * step;
      *cosines++ = static_cast<T>(std::cos(angle));
      *sines++ = static_cast<T>(std::sin(angle));
    }
  }
  return made;
}

std::optional<Table> table_for(const at::Tensor& x, std::int64_t n, std::int64_t rows,
                               std::int64_t columns, int order) {
  if (static_cast<double>(x.numel()) * static_cast<double>(columns) >
      static_cast<double>(most_in_transform)) {
    return std::nullopt;
  }
  if (x.scalar_type() == at::kFloat) return table<float>(n, rows, columns, order != 0);
  return table<double>(n, rows, columns, order != 0);
}

/// Products of the last dimension with a matrix.
std::optional<at::Tensor> along_rows(const at::Tensor& x, const at::Tensor& matrix, int order) {
  const auto made = product_in_order(x.reshape({-1, x.size(-1)}), matrix, order);
  if (!made) return std::nullopt;
  auto shape = x.sizes().vec();
  shape.back() = matrix.size(1);
  return made->view(shape);
}

/// The first `columns` results of n.
std::optional<Parts> transformed(const Parts& x, std::int64_t columns, bool forward, int order) {
  const auto n = x.real.size(-1);
  const auto known = table_for(x.real, n, n, columns, order);
  if (!known) return std::nullopt;
  // exp(-i angle) forward, exp(i angle) back.
  const auto sines = forward ? -known->sines : known->sines;
  auto terms = x.real;
  auto matrix = at::cat({known->cosines, sines}, 1);
  if (x.imaginary.defined()) {
    terms = at::cat({x.real, x.imaginary}, -1);
    matrix = at::cat({matrix, at::cat({-sines, known->cosines}, 1)}, 0);
  }
  const auto both = along_rows(terms, matrix, order);
  if (!both) return std::nullopt;
  return Parts{both->narrow(-1, 0, columns), both->narrow(-1, columns, columns)};
}

/// The n real numbers whose transform begins with `x`: what follows is its mirror image.
std::optional<at::Tensor> mirrored(const Parts& x, std::int64_t n, int order) {
  const auto given = x.real.size(-1);
  const auto known = table_for(x.real, n, given, n, order);
  if (!known || given != n / 2 + 1) return std::nullopt;
  auto cosines = known->cosines * 2;
  auto sines = known->sines * -2;
  // What mirrors itself is there once, and real.
  auto imaginary = x.imaginary.clone();
  const auto alone = n % 2 == 0 ? Extents{0, given - 1} : Extents{0};
  for (const auto at : alone) {
    cosines.select(0, at).div_(2);
    imaginary.select(-1, at).zero_();
  }
  return along_rows(at::cat({x.real, imaginary}, -1), at::cat({cosines, sines}, 0), order);
}

std::optional<Parts> parts_of(const at::Tensor& x) {
  if (!x.defined() || !x.is_cpu() || x.dim() == 0 || x.numel() == 0) return std::nullopt;
  const auto resolved = x.resolve_conj();
  Parts parts{resolved, {}};
  if (x.is_complex()) parts = {at::real(resolved), at::imag(resolved)};
  const auto type = parts.real.scalar_type();
  if (type != at::kFloat && type != at::kDouble) return std::nullopt;
  return parts;
}

Parts with_last(const Parts& x, std::int64_t dim) {
  return {x.real.movedim(dim, -1),
          x.imaginary.defined() ? x.imaginary.movedim(dim, -1) : at::Tensor()};
}

Parts with_last_at(const Parts& x, std::int64_t dim) {
  return {x.real.movedim(-1, dim),
          x.imaginary.defined() ? x.imaginary.movedim(-1, dim) : at::Tensor()};
}

/// As PyTorch's operators number the ways to normalise.
double norm_of(std::int64_t way, double numbers) {
  if (way == 1) return 1 / std::sqrt(numbers);
  return way == 2 ? 1 / numbers : 1.0;
}

}  // namespace

std::optional<at::Tensor> transform_by_loops(std::string_view name,
                                             const c10::FunctionSchema& schema,
                                             const torch::jit::Stack& stack, int order) {
  if (!is_one_of(name, {"_fft_r2c", "_fft_c2c", "_fft_c2r"})) return std::nullopt;
  const Given given(schema, stack, order);
  const auto x = given.tensor("self");
  auto parts = parts_of(x);
  auto dims = given.extents("dim");
  if (!parts || dims.empty()) return std::nullopt;
  const auto last = dims.back();
  const bool forward = name == "_fft_r2c" || given.flag("forward");
  double numbers = 1.0;
  // The last one is halved: first, where the numbers are real, and last, where they become so.
  if (name == "_fft_r2c") std::swap(dims.front(), dims.back());
  for (const auto dim : dims) {
    auto rows = with_last(*parts, dim);
    const bool halves = dim == last;
    const auto n = rows.real.size(-1);
    if (name == "_fft_c2r" && halves) {
      const auto full = given.whole("last_dim_size", 0);
      const auto made = mirrored(rows, full, order);
      if (!made) return std::nullopt;
      parts = with_last_at({*made, {}}, dim);
      numbers *= static_cast<double>(full);
      continue;
    }
    const auto made =
        transformed(rows, halves && given.flag("onesided") ? n / 2 + 1 : n, forward, order);
    if (!made) return std::nullopt;
    parts = with_last_at(*made, dim);
    numbers *= static_cast<double>(n);
  }
  const auto norm = norm_of(given.whole("normalization", 0), numbers);
  if (name == "_fft_c2r") return parts->real.contiguous() * norm;
  const auto both = at::stack({parts->real * norm, parts->imaginary * norm}, -1);
  return at::view_as_complex(both);
}

}  // namespace ouroboros::judge
