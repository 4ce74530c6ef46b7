#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

namespace ouroboros::judge {

/// A tensor as rows of numbers.
struct Layout {
  std::size_t rows = 1;
  std::size_t cols = 1;  ///< Extent of the last dimension.
};

inline Layout layout_of(const at::Tensor& tensor) noexcept {
  Layout layout;
  layout.cols = tensor.dim() == 0 ? 1 : static_cast<std::size_t>(tensor.size(-1));
  const auto elements = static_cast<std::size_t>(tensor.numel());
  layout.rows = layout.cols == 0 ? 0 : elements / layout.cols;
  return layout;
}

}  // namespace ouroboros::judge
