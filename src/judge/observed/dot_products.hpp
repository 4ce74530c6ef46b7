#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include <optional>
#include <span>
#include <string_view>

#include "judge/observed/recent_tensors.hpp"

namespace ouroboros::judge {

/// Products of matrices from which something is taken, while a reference runs. What rounds there
/// are the terms of a dot product, of which nothing may be left in it: attention's backward pass
/// has p (d - sum(p d)) of d = g . v, and who forms the sum as g . (sum p v), as FlashAttention
/// does (Dao et al., 2022, appendix B.4), rounds others of them.
class DotProducts {
 public:
  struct Factors {
    at::Tensor first;
    at::Tensor second;
  };

  /// The factors of an operator with these arguments; empty where it is no such product.
  [[nodiscard]] static std::optional<Factors> meet(std::string_view name,
                                                   std::span<const c10::IValue> arguments);

  /// What was made of them.
  void note(Factors factors, const at::Tensor& product);

  /// Something is about to write to the tensor.
  void forget(const at::Tensor& tensor);

  /// Of what takes a sum from such products (`sub`, the backward pass of a softmax): how large
  /// terms are. Empty for all others.
  [[nodiscard]] std::optional<at::Tensor> size_of(std::string_view name,
                                                  const c10::FunctionSchema& schema,
                                                  const torch::jit::Stack& stack) const;

  /// What the backward pass of a softmax takes from each row of such a product, and attention's as
  /// a product with a result that was rounded.
  struct Sums {
    at::Tensor size;   ///< Of the terms, with one number for a row.
    at::Tensor share;  ///< Of it in each result.
  };
  /// Empty for all other operators.
  [[nodiscard]] std::optional<Sums> sums(std::string_view name, const c10::FunctionSchema& schema,
                                         const torch::jit::Stack& stack) const;

 private:
  /// The root of the sum of the terms' squares; undefined for what is no such product.
  [[nodiscard]] at::Tensor size_of_terms(const c10::IValue& product) const;

  RecentTensors<Factors> products_;
};

}  // namespace ouroboros::judge
