#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string_view>

#include "judge/observed/recent_tensors.hpp"
#include "judge/orders/given.hpp"

namespace ouroboros::judge {

/// Variances and covariances that a reference writes out, ((x - mean x) (y - mean y)).mean(), while
/// it runs in plain loops: who computes them may do so in one pass, as where the reference has
/// `var`.
class Deviations {
 public:
  /// What a tensor is, of `x` and of `y` along `dims`: a sum, what is away from the mean, or a
  /// product of two such.
  struct Known {
    enum class Kind { sum, mean, away, product } kind;
    at::Tensor x;
    at::Tensor y;
    Extents dims;
  };

  /// What an operator with these arguments makes; empty where it is none of these.
  [[nodiscard]] std::optional<Known> meet(std::string_view name, const c10::FunctionSchema& schema,
                                          const torch::jit::Stack& stack) const;

  void note(const c10::IValue& result, Known known);

  /// Of `sum` and `mean`: what one pass makes of such products. Empty for all others.
  [[nodiscard]] std::optional<at::Tensor> sum(std::string_view name,
                                              const c10::FunctionSchema& schema,
                                              const torch::jit::Stack& stack) const;

  /// Something is about to write to the tensor: what comes of it later is no variance of it.
  void forget(const at::Tensor& tensor);

 private:
  RecentTensors<Known> known_;
};

}  // namespace ouroboros::judge
