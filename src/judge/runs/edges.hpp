#pragma once

#include <ATen/core/stack.h>

#include <optional>

#include "judge/runs/operation.hpp"
#include "judge/runs/pass.hpp"

/// Operators whose answer jumps, while inputs move: they are asked about what was given.
namespace ouroboros::judge {

/// What has edges is told how its arguments were given, if nobody computes them. The same arguments
/// of what chooses among them, whose results nobody computes either.
[[nodiscard]] std::optional<torch::jit::Stack> keep_unmoved(Pass& pass, const Operation& operation);

/// Calls the operator, and once more with what was given, where `given` has such arguments.
void call_beside(Pass& pass, const Operation& operation, std::optional<torch::jit::Stack> given);

}  // namespace ouroboros::judge
