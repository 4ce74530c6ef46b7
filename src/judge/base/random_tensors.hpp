#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

/// The numbers of random.hpp on any device, by LibTorch's operators: the same bits as on this
/// processor, so that a verdict can be replayed on another machine.
namespace ouroboros::judge::random {

/// What `bits` gives at positions [first, first + count), as int64.
[[nodiscard]] at::Tensor bits(std::uint64_t key, std::int64_t first, std::int64_t count,
                              at::Device device);

/// What `bits` gives at each of these positions, which are int64.
[[nodiscard]] at::Tensor bits(std::uint64_t key, const at::Tensor& positions);

/// Fills a contiguous tensor of a floating dtype with what `normal` gives, rounded to that dtype.
void fill_normal(std::uint64_t key, const at::Tensor& into);

/// Fills a contiguous tensor of a floating dtype with 2 u - 1, where u is what `uniform` gives.
void fill_uniform(std::uint64_t key, const at::Tensor& into);

/// Fills a contiguous tensor of an integer dtype with what `below` gives.
void fill_below(std::uint64_t key, std::uint64_t bound, const at::Tensor& into);

}  // namespace ouroboros::judge::random
