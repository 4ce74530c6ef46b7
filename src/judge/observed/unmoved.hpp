#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "judge/observed/tensor_set.hpp"
#include "ouroboros/problem.hpp"

namespace ouroboros::judge {

/// While a reference runs on inputs that were moved: which of its numbers nobody computes, and what
/// they would be had the inputs not moved. Those are the inputs, what is chosen from them, and that
/// times a power of two; and a reference's own constants.
class Unmoved {
 public:
  Unmoved() = default;
  Unmoved(const Tensors& moved, const Tensors& given);

  /// An operator's arguments, which end `stack`, as they would be; empty where something among them
  /// was computed, as all in `computed` was that is not known to be an input's.
  [[nodiscard]] std::optional<torch::jit::Stack> arguments(const c10::FunctionSchema& schema,
                                                           const torch::jit::Stack& stack,
                                                           const TensorSet& computed) const;

  /// The results of an operator, which end `stack`, and what they would be.
  void note(const torch::jit::Stack& stack, const torch::jit::Stack& unmoved);

  /// Something is about to write to the tensor.
  void forget(const at::Tensor& tensor);

 private:
  [[nodiscard]] std::optional<at::Tensor> known(const at::Tensor& tensor) const;
  [[nodiscard]] std::optional<at::Tensor> find(const at::Tensor& tensor,
                                               const TensorSet& computed) const;
  [[nodiscard]] std::optional<c10::IValue> find(const c10::IValue& value,
                                                const TensorSet& computed) const;

  std::vector<std::pair<at::Tensor, at::Tensor>> known_;  ///< As they are; as they would be.
};

/// Of either sign.
[[nodiscard]] bool is_power_of_two(double number) noexcept;

/// Whether an operator's answer jumps where a number passes an edge: rounding, comparing, finding a
/// place, casting to integers.
[[nodiscard]] bool has_edges(std::string_view name, const c10::FunctionSchema& schema,
                             const torch::jit::Stack& stack);

/// Whether an operator computes nothing: it makes numbers that it is told, or moves them about.
[[nodiscard]] bool makes_constants(std::string_view name, const c10::FunctionSchema& schema);

/// Whether every real number that an operator returns is one of its arguments', or that times a
/// power of two.
[[nodiscard]] bool is_choice(std::string_view name, const c10::FunctionSchema& schema,
                             const torch::jit::Stack& stack);

}  // namespace ouroboros::judge
