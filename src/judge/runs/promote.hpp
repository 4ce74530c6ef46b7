#pragma once

#include <ATen/core/ScalarType.h>

#include "judge/judge.hpp"
#include "judge/runs/inside.hpp"

namespace ouroboros::judge {

/// Runs `reference` in float64, or in float32, with every cast to a lower floating type inside it
/// promoted.
[[nodiscard]] OUROBOROS_API Tensors promoted(const Reference& reference, const Tensors& inputs,
                                             at::ScalarType to = at::kDouble,
                                             const Inside& inside = {});

}  // namespace ouroboros::judge
