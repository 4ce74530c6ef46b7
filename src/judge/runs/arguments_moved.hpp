#pragma once

#include "judge/runs/operation.hpp"
#include "judge/runs/pass.hpp"

namespace ouroboros::judge {

/// What an operator is given, before it is called, as others may give it: factors that they round,
/// terms that they add up in an order of their own.
void move_arguments(Pass& pass, const Operation& operation);

/// Masks that moved are targets still, and losses ask for these to be probabilities.
void keep_targets_in_range(const Operation& operation);

}  // namespace ouroboros::judge
