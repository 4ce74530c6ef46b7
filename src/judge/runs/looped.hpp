#pragma once

#include "judge/runs/operation.hpp"
#include "judge/runs/pass.hpp"

/// Operators in whose place something else runs.
namespace ouroboros::judge {

/// An operator that is composed of others, operator by operator.
void take_apart(const Operation& operation);

/// Attention, by its parts.
void take_attention_apart(const Operation& operation, at::ScalarType target);

/// Adds up by a plain loop, in one of several orders. False where the operator remains to be
/// called.
[[nodiscard]] bool add_in_loops(Pass& pass, const Operation& operation);

}  // namespace ouroboros::judge
