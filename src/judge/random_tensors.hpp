#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

/// The numbers of random.hpp on any device, by LibTorch's operators: the same bits as on this
/// processor, so that a verdict can be replayed on another machine.
namespace ouroboros::judge::random {

/// What `bits` gives at positions [first, first + count), as int64.
[[nodiscard]] at::Tensor bits(std::uint64_t key, std::int64_t first, std::int64_t count,
                              at::Device device);

/// Fills a contiguous tensor of a floating dtype with what `normal` gives, rounded to that dtype.
void fill_normal(std::uint64_t key, const at::Tensor& into);

}  // namespace ouroboros::judge::random
