#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>
#include <vector>

#include "judge/orders/given.hpp"

namespace ouroboros::judge {

/// What autograd's own operators return that add numbers up, with their sums by plain loops:
/// gradients of normalisations, softmaxes and convolutions. Means and variances of a normalisation
/// are added up once more: LibTorch's are those of one order. Empty for other operators.
[[nodiscard]] std::optional<std::vector<at::Tensor>> backward_by_loop(std::string_view name,
                                                                      const Given& given);

}  // namespace ouroboros::judge
