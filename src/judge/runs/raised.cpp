#include "judge/runs/raised.hpp"

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "judge/judge.hpp"
#include "judge/orders/arguments.hpp"

namespace ouroboros::judge {
namespace {

/// Empty where it stays.
std::optional<at::ScalarType> raised_type(at::ScalarType type, at::ScalarType target) noexcept {
  const bool wide = target == at::kDouble;
  if (type == at::kComplexHalf) return wide ? at::kComplexDouble : at::kComplexFloat;
  if (type == at::kComplexFloat && wide) return at::kComplexDouble;
  if (!c10::isFloatingType(type) || c10::elementSize(type) >= c10::elementSize(target)) {
    return std::nullopt;
  }
  return target;
}

bool is_dtype(const c10::Argument& argument) {
  auto type = argument.real_type();
  if (type->kind() == c10::TypeKind::OptionalType) {
    type = type->castRaw<c10::OptionalType>()->getElementType();
  }
  return type->kind() == c10::TypeKind::ScalarTypeType;
}

/// Bits of integers are the same whatever is promoted.
bool reinterprets_reals(const Operation& operation) {
  const auto& schema = operation.schema;
  if (schema.name() != "aten::view" || schema.overload_name() != "dtype") return false;
  const auto given = operation.arguments();
  return !c10::isIntegralType(given[0].toTensor().scalar_type(), /*includeBool=*/true) ||
         !c10::isIntegralType(given[1].toScalarType(), /*includeBool=*/true);
}

/// Whether a generator's numbers are other ones in float64.
bool draws_by_dtype(const Operation& operation) {
  return is_one_of(operation.name,
                   {"rand", "rand_like", "randn", "randn_like", "normal", "uniform"}) ||
         (operation.name == "bernoulli" && !operation.schema.is_mutable());
}

/// Refuses numbers that are drawn in the inputs' dtype: the oracle would be another problem's. A
/// tensor of the meta device gets none.
void require_own_dtype(const c10::IValue& value, bool is_dtype) {
  const bool wide = is_dtype ? value.isInt() && value.toScalarType() == at::kDouble
                             : value.isTensor() && value.toTensor().defined() &&
                                   value.toTensor().scalar_type() == at::kDouble &&
                                   !value.toTensor().is_meta();
  if (!wide) return;
  throw ReferenceFault(
      "the reference draws random numbers in the dtype of its inputs, or of a layer that it makes: "
      "they are others in float64. Draw them once, outside of it, or in float32");
}

}  // namespace

at::Tensor raised(const at::Tensor& tensor, at::ScalarType target) {
  if (!tensor.defined()) return tensor;
  const auto type = raised_type(tensor.scalar_type(), target);
  return type ? tensor.to(*type) : tensor;
}

void raise_value(c10::IValue& value, at::ScalarType target) {
  const auto is_lower = [target](const at::Tensor& tensor) {
    return tensor.defined() && raised_type(tensor.scalar_type(), target).has_value();
  };
  // A list that stays as it is remains the reference's own.
  const bool lower = value.isTensor() ? is_lower(value.toTensor())
                                      : value.isTensorList() &&
                                            std::ranges::any_of(value.toTensorVector(), is_lower);
  if (!lower) return;
  change_tensors(value, [target](const at::Tensor& one) { return raised(one, target); });
}

void raise_arguments(const Operation& operation, at::ScalarType target) {
  if (reinterprets_reals(operation)) {
    throw ReferenceFault(
        "the reference reinterprets bits (view with a dtype), which has no meaning in float64: "
        "give the problem an explicit oracle");
  }
  const bool draws = target == at::kDouble && draws_by_dtype(operation);
  const auto& arguments = operation.schema.arguments();
  const auto given = operation.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (draws) {
      require_own_dtype(given[i], is_dtype(arguments[i]));
    } else if (is_dtype(arguments[i]) && given[i].isInt()) {
      if (const auto type = raised_type(given[i].toScalarType(), target)) given[i] = *type;
    } else if (!is_written(arguments[i])) {
      // Constants that a reference brought along: `a.to(b)` and `a.type_as(b)` must not lower `a`.
      raise_value(given[i], target);
    }
  }
}

}  // namespace ouroboros::judge
