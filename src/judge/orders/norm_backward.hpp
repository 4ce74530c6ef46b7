#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>

#include "judge/orders/given.hpp"

namespace ouroboros::judge {

/// What the backward pass of a layer, group or batch norm is given, in the shape in which it
/// normalises.
struct NormBackward {
  at::Tensor gradient;    ///< Of the result.
  at::Tensor input;       ///< Of that shape, as is the gradient.
  at::Tensor weight;      ///< With an extent of one along `shared`; undefined where there is none.
  at::Tensor mean;        ///< As it was saved, with an extent of one along `dims`;
  at::Tensor reciprocal;  ///< so that of the deviation.
  Extents dims;           ///< That it normalises over.
  Extents shared;         ///< Along which elements have one weight.

  /// The gradient of the normalised input.
  [[nodiscard]] at::Tensor weighted() const;
};

/// Empty for other operators, and for a batch norm with means that were counted before: nothing is
/// subtracted there.
[[nodiscard]] std::optional<NormBackward> norm_backward_of(std::string_view name,
                                                           const Given& given);

}  // namespace ouroboros::judge
