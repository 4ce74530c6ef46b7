#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace ouroboros::judge {

/// Errors of results in 16 or 8 bits in units in the last place of the true values, one element
/// after the other. Signs are those of numbers: below zero, a result is too low.
struct LastPlaces {
  at::Tensor told;       ///< The elements of which the others say something: 1024 at least.
  at::Tensor truth;      ///< In float64.
  at::Tensor candidate;  ///< Its errors.
  at::Tensor reference;  ///< Its errors.
  at::Tensor nearest;    ///< Errors of the true values rounded to the nearest.
};

/// Nothing where too few numbers are `allowed` no more than one unit. Those that are say that the
/// reference rounds once: twice its own largest error is allowed.
[[nodiscard]] std::optional<LastPlaces> last_places(const at::Tensor& got,
                                                    const at::Tensor& reference,
                                                    const at::Tensor& truth,
                                                    const at::Tensor& allowed);

}  // namespace ouroboros::judge
