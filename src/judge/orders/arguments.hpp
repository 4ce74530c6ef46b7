#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

/// What an operator on its way through the dispatcher is given: its arguments end the stack.
namespace ouroboros::judge {

inline bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Null where the operator has no argument of that name.
[[nodiscard]] const c10::IValue* argument(std::string_view name, const c10::FunctionSchema& schema,
                                          const torch::jit::Stack& stack);

/// Whether an operator writes to what it is given there.
[[nodiscard]] bool is_written(const c10::Argument& argument);

/// Whether all that an operator returns looks at what it is given, as `transpose` does.
[[nodiscard]] bool is_view(const c10::FunctionSchema& schema);

/// A number that the reference's text has, also where it comes as a tensor; empty for complex ones
/// and for what is no number.
[[nodiscard]] std::optional<double> constant(const c10::IValue& value);

/// Whether a tensor stands for such a number.
[[nodiscard]] bool is_constant(const at::Tensor& tensor);

}  // namespace ouroboros::judge
