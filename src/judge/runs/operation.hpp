#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <algorithm>
#include <span>
#include <string_view>

namespace ouroboros::judge {

/// By which a reference's operators are met: see promote.cpp.
inline constexpr auto promotion = c10::DispatchKey::TESTING_ONLY_GenericMode;

/// "softplus" of "aten::softplus", and of the form that works in place; "erf" of
/// "aten::special_erf", which is the same by another name. Empty for what is not PyTorch's own.
[[nodiscard]] inline std::string_view plain_name(const c10::FunctionSchema& schema) {
  std::string_view name = schema.name();
  if (!name.starts_with("aten::")) return {};
  name.remove_prefix(6);
  if (name.starts_with("special_")) name.remove_prefix(8);
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

/// An operator on its way through the dispatcher.
struct Operation {
  Operation(const c10::OperatorHandle& of, torch::jit::Stack& on)
      : op(of), stack(on), schema(of.schema()), name(plain_name(schema)) {}

  const c10::OperatorHandle& op;
  torch::jit::Stack& stack;
  const c10::FunctionSchema& schema;
  const std::string_view name;

  /// Before it is called.
  [[nodiscard]] std::span<c10::IValue> arguments() const {
    return std::span(stack).last(schema.arguments().size());
  }

  /// Once it was.
  [[nodiscard]] std::span<c10::IValue> results() const {
    return std::span(stack).last(schema.returns().size());
  }
};

/// Sparse and nested tensors have no numbers to be moved one by one.
[[nodiscard]] inline bool are_dense(std::span<const c10::IValue> values) {
  return std::ranges::none_of(values, [](const c10::IValue& value) {
    return value.isTensor() && value.toTensor().defined() &&
           (value.toTensor().layout() != at::kStrided || value.toTensor().is_nested());
  });
}

template <typename Change>
void change_tensors(c10::IValue& value, Change&& change) {
  if (value.isTensor()) {
    value = change(value.toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> out;
    for (const at::Tensor& one : value.toTensorVector()) out.push_back(change(one));
    value = std::move(out);
  }
}

}  // namespace ouroboros::judge
