#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <span>

#include "judge/runs/operation.hpp"

/// Numbers of lower floating types as numbers of a higher one, which a reference is promoted to.
namespace ouroboros::judge {

[[nodiscard]] at::Tensor raised(const at::Tensor& tensor, at::ScalarType target);

/// A tensor, or those of a list.
void raise_value(c10::IValue& value, at::ScalarType target);

/// Raises what an operator is given, and the dtype that it is told. Throws `ReferenceFault` where
/// what it makes is another thing in the higher type.
void raise_arguments(const Operation& operation, at::ScalarType target);

}  // namespace ouroboros::judge
