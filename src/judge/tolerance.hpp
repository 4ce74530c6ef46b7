#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <vector>

#include "ouroboros/dtype.hpp"
#include "ouroboros/problem.hpp"

/// How wrong an element may be. docs/tolerance.md explains the rule and measures it.
namespace ouroboros::judge {

/// The allowed absolute error of one output as a function of the true value.
class Tolerance {
 public:
  /// Learns the rule of one output of a case.
  ///
  /// `reference` is what the reference makes in the case's dtype, `oracle` the true value in
  /// float64, and `moved` are true values of inputs that were perturbed by `perturbation` relative.
  /// `compute` is the dtype of the case: it says how precise an honest computation is.
  static Tolerance learn(DType compute, const at::Tensor& reference, const at::Tensor& oracle,
                         const Tensors& moved);

  /// The allowed error of each element of `oracle`, in float64.
  [[nodiscard]] at::Tensor allowed(const at::Tensor& oracle) const;

 private:
  static constexpr int binades = 2048;  ///< One for each exponent of a float64.

  std::array<double, binades> absolute_{};
  double relative_ = 0.0;
};

/// How far the inputs are moved, relative, to see how well conditioned the outputs are.
inline constexpr double perturbation = 0x1p-30;

/// How many times inputs of `elements` elements are moved.
[[nodiscard]] int perturbations_for(std::int64_t elements) noexcept;

}  // namespace ouroboros::judge
