#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "ouroboros/dtype.hpp"
#include "ouroboros/problem.hpp"

/// How wrong an element may be. docs/tolerance.md explains the rule and measures it.
namespace ouroboros::judge {

/// What is known of one output of a case. Tensors are contiguous and of one shape.
struct Evidence {
  DType compute = DType::float32;  ///< Of the case: how precise an honest computation is.
  at::Tensor reference;            ///< What the reference makes in that dtype.
  Tensors again;                   ///< Its errors on inputs next to these, added to `oracle`.
  Tensors single;                  ///< What it makes in float32; empty in float64.
  Tensors loops;                   ///< The same, with plain loops for its sums.
  at::Tensor oracle;               ///< The true values, in float64.
  Tensors moved;                   ///< True values after moving the inputs by `perturbation`.
  std::int64_t longest = 1;        ///< Of how many terms sums may be that are not in `loops`.
  double gain = 1.0;               ///< By so much a step of the smallest inputs grows on its way.
};

/// How far each element is off in what the evidence holds: the largest distance of each kind from
/// the truth, in float64. Undefined where there is none of a kind, or the truth is no real number.
struct Errors {
  explicit Errors(const Evidence& evidence);

  at::Tensor reference;  ///< Infinite, or NaN, where the reference is.
  at::Tensor again;      ///< Of this kind and of those that follow what is not finite is left out.
  at::Tensor single;
  at::Tensor loops;
  at::Tensor moved;
};

/// The allowed absolute error of one output as a function of the true value.
class Tolerance {
 public:
  /// Learns the rule of one output of a case. Integers have to be exact.
  static Tolerance learn(const Evidence& evidence, const Errors& errors);

  /// The allowed error of each element of `oracle`, in float64, on its device.
  [[nodiscard]] at::Tensor allowed(const at::Tensor& oracle) const;

  /// The same by LibTorch's operators, which is what tensors on another device need.
  [[nodiscard]] at::Tensor allowed_by_operators(const at::Tensor& oracle) const;

  /// The allowed error of each element of the oracle that the rule was learnt from: what others of
  /// its size are allowed, but no more than some times what the evidence says of itself, where that
  /// is enough to go by.
  [[nodiscard]] at::Tensor allowed(const Evidence& evidence, const Errors& errors) const;

 private:
  std::vector<double> absolute_;  ///< By the binade of the true value.
  std::vector<double> least_;     ///< The same, that every element is allowed whatever it does.
  /// The same: one where moving the inputs tells all of `absolute_`. What cancels on the way may
  /// come out exact by chance, however often it is tried.
  std::vector<double> conditioned_;
  std::vector<double> errors_;  ///< The same: what else counts, relative to the true value.
  double relative_ = 0.0;
};

/// Of what computes, relative: problems in 16 and 8 bits are computed in float32 by anyone
/// sensible.
[[nodiscard]] double roundoff_of(DType compute) noexcept;

/// A few steps of the smallest numbers of an output, which are allowed to anyone: there every
/// operation rounds to a whole step. More where one computes in them: a quotient by a small number
/// is as many times further off, and a running mean one step an update.
[[nodiscard]] double smallest_of(DType output, DType compute) noexcept;

/// How far the inputs are moved, relative, to see how well conditioned the outputs are.
inline constexpr double perturbation = 0x1p-30;

/// How many times inputs of `elements` elements are moved.
[[nodiscard]] int perturbations_for(std::int64_t elements) noexcept;

}  // namespace ouroboros::judge
