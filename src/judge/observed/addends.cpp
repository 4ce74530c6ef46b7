#include "judge/observed/addends.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <span>
#include <utility>

#include "judge/orders/arguments.hpp"
#include "judge/orders/products.hpp"
#include "judge/orders/walk.hpp"

namespace ouroboros::judge {
namespace {

/// Of the first argument's numbers each is somewhere in the result, scaled or not.
bool keeps_numbers(std::string_view name, const c10::FunctionSchema& schema) {
  const auto& returned = schema.returns();
  const bool returns_one =
      returned.size() == 1 && returned[0].type()->kind() == c10::TypeKind::TensorType;
  return (is_view(schema) && returns_one) ||
         is_one_of(name, {"_to_copy", "type_as", "mul", "div", "_unsafe_view", "clone"});
}

bool adds_two(std::string_view name) { return is_one_of(name, {"add", "sub", "rsub"}); }

c10::IValue zeros_for(const c10::IValue& value) {
  if (value.isTensor()) return at::zeros_like(value.toTensor());
  return value.isInt() ? c10::IValue(0) : c10::IValue(0.0);
}

/// What an operator makes of `arguments`.
at::Tensor called(const c10::OperatorHandle& op, torch::jit::Stack arguments) {
  op.callBoxed(&arguments);
  return arguments.back().toTensor();
}

}  // namespace

bool Addends::is_quantised(const c10::IValue& value) const {
  if (!value.isTensor() || !value.toTensor().defined()) return false;
  return c10::isIntegralType(value.toTensor().scalar_type(), /*includeBool=*/false) ||
         quantised_.has(value.toTensor());
}

Addends::Known Addends::of_result(std::string_view name, const c10::OperatorHandle& op,
                                  const torch::jit::Stack& stack) const {
  const auto& schema = op.schema();
  const bool adds = adds_two(name);
  if ((!adds && !keeps_numbers(name, schema)) || schema.is_mutable()) return {};
  const torch::jit::Stack given(
      stack.end() - static_cast<std::ptrdiff_t>(schema.arguments().size()), stack.end());
  const auto numbers = std::span(given).first(adds || name == "mul" ? 2 : 1);
  Known known;
  known.quantised =
      std::ranges::any_of(numbers, [this](const auto& one) { return is_quantised(one); });
  if (!known.quantised) return {};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    auto arguments = given;
    if (adds) {
      arguments[1 - i] = zeros_for(given[1 - i]);
      known.addends.push_back(called(op, std::move(arguments)));
      continue;
    }
    const auto* addends = addends_.find(given[i]);
    if (addends == nullptr || !known.addends.empty()) continue;
    for (const auto& one : *addends) {
      arguments[i] = one;
      known.addends.push_back(called(op, arguments));
    }
  }
  return known;
}

void Addends::note(const c10::IValue& result, Known known) {
  if (!known.quantised || !result.isTensor()) return;
  if (result.toTensor().is_floating_point()) {
    quantised_.note(result);
  } else if (result.toTensor().itemsize() < 4) {
    return;  // Where a difference may wrap, it is not what its terms add up to.
  }
  if (!known.addends.empty()) addends_.note(result.toTensor(), std::move(known.addends));
}

std::optional<at::Tensor> Addends::product(std::string_view name, const c10::FunctionSchema& schema,
                                           const torch::jit::Stack& stack, int order) const {
  const bool adds = is_one_of(name, {"addmm", "baddbmm", "addmv"});
  torch::jit::Stack given(stack.end() - static_cast<std::ptrdiff_t>(schema.arguments().size()),
                          stack.end());
  const std::vector<at::Tensor>* addends = nullptr;
  std::size_t factor = 0;
  if (order != 0 && (adds || is_one_of(name, {"mm", "bmm", "mv"}))) {
    for (factor = adds ? 1 : 0; factor < (adds ? 3U : 2U); ++factor) {
      addends = addends_.find(given[factor]);
      if (addends != nullptr) break;
    }
  }
  if (addends == nullptr) return product_by_loops(name, schema, stack, order);
  std::optional<at::Tensor> sum;
  // Each in an order of its own: alike ones would be off alike.
  for (const auto& addend : *addends) {
    given[factor] = addend;
    const auto made = product_by_loops(name, schema, given, order++ % orders);
    if (!made) return std::nullopt;
    sum = sum ? *sum + *made : made;
    if (adds) given[0] = zeros_for(given[0]);  // What is added to a product is so once.
  }
  return sum;
}

void Addends::forget(const at::Tensor& tensor) {
  quantised_.forget(tensor);
  addends_.forget(tensor);
}

}  // namespace ouroboros::judge
