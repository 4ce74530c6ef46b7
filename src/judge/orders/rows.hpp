#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "judge/orders/given.hpp"

namespace ouroboros::judge {

inline std::int64_t count_of(const at::Tensor& x, const Extents& dims) {
  std::int64_t count = 1;
  for (const auto dim : dims) count *= x.size(dim);
  return count;
}

/// `terms` with the dimensions that are added up at the end, row by row; and their extent is one in
/// `kept`.
struct Rows {
  at::Tensor terms;
  Extents kept;
};

inline Rows rows_of(const at::Tensor& terms, const Extents& dims) {
  Rows rows{{}, terms.sizes().vec()};
  Extents places;
  for (std::int64_t dim = 0; dim < terms.dim(); ++dim) {
    if (std::find(dims.begin(), dims.end(), dim) == dims.end()) places.push_back(dim);
  }
  places.insert(places.end(), dims.begin(), dims.end());
  rows.terms = terms.permute(places).contiguous();
  for (const auto dim : dims) rows.kept[static_cast<std::size_t>(dim)] = 1;
  return rows;
}

/// What was made of rows, with the dimensions that were added up or without them.
inline at::Tensor without(const at::Tensor& x, const Extents& dims, bool keep) {
  if (keep) return x;
  Extents kept;
  for (std::int64_t dim = 0; dim < x.dim(); ++dim) {
    if (std::find(dims.begin(), dims.end(), dim) == dims.end()) kept.push_back(x.size(dim));
  }
  return x.reshape(kept);
}

/// Who adds up more than this adds in parts, or in a wider type: one after the other, float32
/// would lose per cents.
inline constexpr std::int64_t longest_loop = 65536;

}  // namespace ouroboros::judge
