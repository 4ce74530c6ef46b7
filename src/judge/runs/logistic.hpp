#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <optional>
#include <span>
#include <string_view>

#include "judge/observed/tensor_set.hpp"

/// Sigmoids as others make them: 1 / (1 + exp(-x)) is right to the last digits however small it
/// is, and (1 + tanh(x / 2)) / 2 to a rounding of one, which is more than all of it below -17.
namespace ouroboros::judge {

/// Where sigmoids, and what follows from them, go in a run of the reference. Products and sums
/// keep such an error as small as it is. Logarithms, divisions and roots make much of it.
class Logistic {
 public:
  /// Before the operator is called.
  void meet(std::string_view name, std::span<const c10::IValue> given);

  /// What the operator has made.
  void note(const c10::IValue& result);

  [[nodiscard]] bool magnified() const noexcept { return magnified_; }

 private:
  TensorSet follows_;
  bool noted_ = false;  ///< What the operator at hand makes is one of them.
  bool magnified_ = false;
};

/// Of an operator that is a sigmoid or has one in it: what its form with a tanh loses, in units in
/// which a move of the result by 2^-30, times thirty-two roundings, is one: see Tolerance.
/// `roundoff` is that of what computes. Empty for all others.
[[nodiscard]] std::optional<at::Tensor> size_of_tanh_form(std::string_view name,
                                                          const c10::FunctionSchema& schema,
                                                          const torch::jit::Stack& stack,
                                                          double roundoff);

}  // namespace ouroboros::judge
