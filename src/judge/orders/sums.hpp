#pragma once

#include <ATen/core/Tensor.h>

#include "judge/orders/given.hpp"

/// Sums by plain loops, one term after the other, of tensors on the host in float32 or float64.
/// What is added up along `dims` has an extent of one there. `order` is one of `orders`.
namespace ouroboros::judge {

/// Whether loops can add up a tensor's numbers: of those on the host, in one of these types.
[[nodiscard]] bool can_be_added(const at::Tensor& x);

/// But for order 0 of terms that were multiplied by something before.
[[nodiscard]] at::Tensor sums(const at::Tensor& x, const Extents& dims, int order);

[[nodiscard]] at::Tensor means(const at::Tensor& x, const Extents& dims, int order);

/// Not of numbers that are added up, but multiplied.
[[nodiscard]] at::Tensor plain_products(const at::Tensor& x, const Extents& dims, int order);

/// Whether loops know nothing of a row before they pass it: in the last order, where nothing is
/// infinite.
[[nodiscard]] bool in_one_pass(const at::Tensor& x, int order);

struct Moments {
  at::Tensor mean;
  at::Tensor variance;
};

/// `correction` is taken from the number of terms that the variance is divided by.
[[nodiscard]] Moments moments(const at::Tensor& x, const Extents& dims, double correction,
                              int order);

}  // namespace ouroboros::judge
