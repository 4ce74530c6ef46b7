#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

/// The numbers of random.hpp on any device, by LibTorch's operators: the same bits as on this
/// processor, so that a verdict can be replayed on another machine.
namespace ouroboros::judge::random {

/// What `bits` gives at positions [first, first + count), as int64.
[[nodiscard]] at::Tensor bits(std::uint64_t key, std::int64_t first, std::int64_t count,
                              at::Device device);

/// What `bits` gives at each of these positions, which are int64.
[[nodiscard]] at::Tensor bits(std::uint64_t key, const at::Tensor& positions);

// Each of these fills contiguous tensors, of one shape, dtype and device, from a key each:
// together, as on a GPU an operator on many small tensors takes little longer than one on a single
// one.

/// Fills tensors of a floating dtype with what `normal` gives, rounded to that dtype.
void fill_normal(std::span<const std::uint64_t> keys, std::span<const at::Tensor> into);

/// Fills tensors of a floating dtype with 2 u - 1, where u is what `uniform` gives.
void fill_uniform(std::span<const std::uint64_t> keys, std::span<const at::Tensor> into);

/// Fills tensors of an integer dtype with what `below` gives.
void fill_below(std::span<const std::uint64_t> keys, std::uint64_t bound,
                std::span<const at::Tensor> into);

inline void fill_normal(std::uint64_t key, const at::Tensor& into) {
  fill_normal(std::span(&key, 1), std::span(&into, 1));
}
inline void fill_uniform(std::uint64_t key, const at::Tensor& into) {
  fill_uniform(std::span(&key, 1), std::span(&into, 1));
}
inline void fill_below(std::uint64_t key, std::uint64_t bound, const at::Tensor& into) {
  fill_below(std::span(&key, 1), bound, std::span(&into, 1));
}

}  // namespace ouroboros::judge::random
