#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace ouroboros::judge {

/// How many results in float32 have the 12 bits of float16, bfloat16 and TF32, or fewer, where the
/// reference's have more, and the true values too; 0 if any has not, and where there are too few to
/// tell. Where much is allowed, because results are ill-conditioned, rounding them is within it,
/// and saves what it costs to compute them.
[[nodiscard]] std::int64_t count_short(const at::Tensor& got, const at::Tensor& reference,
                                       const at::Tensor& oracle);

}  // namespace ouroboros::judge
