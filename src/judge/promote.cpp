#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include "judge/judge.hpp"

// The oracle runs the reference in float64. A reference that casts its input to float32 would make
// a float32 oracle, so every cast to a lower type is turned into one to float64 on its way through
// the dispatcher. The dispatch key that is borrowed for this is one that LibTorch keeps for tests
// of just this mechanism; it is switched on for the calling thread and for one call of a reference,
// and it works for callables from Python as well, because their operators pass the same dispatcher.
namespace ouroboros::judge {
namespace {

constexpr auto promotion = c10::DispatchKey::TESTING_ONLY_GenericMode;

/// What this thread promotes to while `promoted` runs: float64 or float32.
thread_local at::ScalarType target = at::kDouble;

std::optional<at::ScalarType> raised(at::ScalarType type) noexcept {
  const bool wide = target == at::kDouble;
  if (type == at::kComplexHalf) return wide ? at::kComplexDouble : at::kComplexFloat;
  if (type == at::kComplexFloat && wide) return at::kComplexDouble;
  if (!c10::isFloatingType(type) || c10::elementSize(type) >= c10::elementSize(target)) {
    return std::nullopt;
  }
  return target;
}

at::Tensor raise_tensor(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  const auto type = raised(tensor.scalar_type());
  return type ? tensor.to(*type) : tensor;
}

void raise_value(c10::IValue& value) {
  if (value.isTensor()) {
    const auto& tensor = value.toTensor();
    if (tensor.defined() && raised(tensor.scalar_type())) value = raise_tensor(tensor);
  } else if (value.isTensorList()) {
    auto list = value.toTensorList();
    c10::List<at::Tensor> out;
    bool changed = false;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto tensor = list.get(i);
      changed = changed || (tensor.defined() && raised(tensor.scalar_type()));
      out.push_back(raise_tensor(tensor));
    }
    if (changed) value = std::move(out);
  }
}

bool is_dtype(const c10::Argument& argument) {
  auto type = argument.real_type();
  if (type->kind() == c10::TypeKind::OptionalType) {
    type = type->castRaw<c10::OptionalType>()->getElementType();
  }
  return type->kind() == c10::TypeKind::ScalarTypeType;
}

bool written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

void promote(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  // Operators are seen whole: what a composite one does inside is not intercepted again.
  const c10::impl::ExcludeDispatchKeyGuard outside(promotion);
  const auto& schema = op.schema();
  if (schema.name() == "aten::view" && schema.overload_name() == "dtype") {
    throw ReferenceFault(
        "the reference reinterprets bits (view with a dtype), which has no meaning in float64: "
        "give the problem an explicit oracle");
  }
  const auto& arguments = schema.arguments();
  const auto begin = stack->size() - arguments.size();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    auto& value = (*stack)[begin + i];
    if (is_dtype(arguments[i]) && value.isInt()) {
      if (const auto type = raised(value.toScalarType())) value = c10::IValue(*type);
    } else if (!written(arguments[i])) {
      // Constants that a reference brought along: `a.to(b)` and `a.type_as(b)` must not lower `a`.
      raise_value(value);
    }
  }
  op.callBoxed(stack);
  const auto returned = schema.returns().size();
  for (auto i = stack->size() - returned; i < stack->size(); ++i) raise_value((*stack)[i]);
}

}  // namespace

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&promote>());
}

Tensors promoted(const Reference& reference, const Tensors& inputs, at::ScalarType to) {
  target = to;
  Tensors raised_inputs;
  raised_inputs.reserve(inputs.size());
  for (const auto& input : inputs) raised_inputs.push_back(raise_tensor(input));
  // Autocasting would lower what was raised.
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const c10::impl::IncludeDispatchKeyGuard promoting(promotion);
  return reference(raised_inputs);
}

}  // namespace ouroboros::judge
