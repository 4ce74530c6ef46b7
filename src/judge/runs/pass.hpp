#pragma once

#include <ATen/core/ScalarType.h>

#include <cstdint>

#include "judge/judge.hpp"
#include "judge/observed/addends.hpp"
#include "judge/observed/blends.hpp"
#include "judge/observed/deviations.hpp"
#include "judge/observed/dot_products.hpp"
#include "judge/observed/scaled_differences.hpp"
#include "judge/observed/tensor_set.hpp"
#include "judge/observed/unmoved.hpp"
#include "judge/observed/whole_numbers.hpp"
#include "judge/runs/inside.hpp"

namespace ouroboros::judge {

/// One run of a reference whose operators are met one by one: what is to happen inside it, and what
/// is known of its tensors by now.
struct Pass {
  at::ScalarType target = at::kDouble;  ///< What it promotes to: float64 or float32.
  Inside inside;
  std::uint64_t moves_made = 0;
  std::int64_t calls = 0;  ///< Of operators.
  Unmoved unmoved;
  /// What follows from the inputs. All other tensors are constants, such as `arange` makes: they
  /// are what they are in any arithmetic.
  TensorSet derived;
  TensorSet computed;  ///< All but constants of the reference's own: inputs, too.
  WholeNumbers whole_numbers;
  ScaledDifferences scaled_differences;
  Blends blends;
  DotProducts dot_products;
  Addends addends;
  Deviations deviations;
};

}  // namespace ouroboros::judge
