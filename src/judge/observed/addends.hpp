#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string_view>
#include <vector>

#include "judge/observed/recent_tensors.hpp"
#include "judge/observed/tensor_set.hpp"

namespace ouroboros::judge {

/// What matrices of quantised numbers are sums of, as (q - z) s and q d + m are, while a reference
/// runs in plain loops. Who multiplies by one may multiply by its addends: a kernel has the product
/// with q and the sum of x, and takes them together afterwards. That loses more where they cancel.
class Addends {
 public:
  /// Of a result: whether it is quantised numbers, scaled or not, and what it is the sum of.
  struct Known {
    bool quantised = false;
    std::vector<at::Tensor> addends;  ///< None, or several.
  };

  /// What is to be noted of an operator's result, once it has run.
  [[nodiscard]] Known of_result(std::string_view name, const c10::OperatorHandle& op,
                                const torch::jit::Stack& stack) const;

  void note(const c10::IValue& result, Known known);

  /// As `product_by_loops`, and but for order 0 by the addends of a factor.
  [[nodiscard]] std::optional<at::Tensor> product(std::string_view name,
                                                  const c10::FunctionSchema& schema,
                                                  const torch::jit::Stack& stack, int order) const;

  /// Something is about to write to the tensor.
  void forget(const at::Tensor& tensor);

 private:
  [[nodiscard]] bool is_quantised(const c10::IValue& value) const;

  TensorSet quantised_;
  RecentTensors<std::vector<at::Tensor>> addends_;
};

}  // namespace ouroboros::judge
