#pragma once

#include "ouroboros/executor.hpp"
#include "ouroboros/problem.hpp"

namespace ouroboros::referee {

/// Tensors over the referee's own view of a call's buffers: no copies.
struct ArenaTensors {
  Tensors inputs;
  Tensors outputs;
};
[[nodiscard]] ArenaTensors arena_tensors(const Arena& arena, std::size_t call, Placement placement);

/// Copies a contiguous tensor's elements over another's of the same shape and dtype.
void copy_bytes(const at::Tensor& from, const at::Tensor& to);

[[nodiscard]] Tensors clones(const Tensors& tensors);

/// Whether all pairs agree in every bit.
[[nodiscard]] bool same_bits(const Tensors& a, const Tensors& b);

}  // namespace ouroboros::referee
