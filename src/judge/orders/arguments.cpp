#include "judge/orders/arguments.hpp"

#include <ATen/core/ivalue.h>

namespace ouroboros::judge {

const c10::IValue* argument(std::string_view name, const c10::FunctionSchema& schema,
                            const torch::jit::Stack& stack) {
  const auto& arguments = schema.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() == name) return &stack[stack.size() - arguments.size() + i];
  }
  return nullptr;
}

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

bool is_view(const c10::FunctionSchema& schema) {
  const auto& returned = schema.returns();
  return !returned.empty() && std::ranges::all_of(returned, [](const c10::Argument& one) {
    return one.alias_info() != nullptr && !one.alias_info()->isWrite();
  });
}

std::optional<double> constant(const c10::IValue& value) {
  at::Scalar number;
  if (value.isScalar()) {
    number = value.toScalar();
  } else if (value.isTensor() && value.toTensor().defined() && is_constant(value.toTensor())) {
    number = value.toTensor().item();
  } else {
    return std::nullopt;
  }
  return number.isComplex() ? std::nullopt : std::optional(number.toDouble());
}

bool is_constant(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->is_wrapped_number();
}

}  // namespace ouroboros::judge
