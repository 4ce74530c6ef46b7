#include "judge/runs/looped.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "judge/judge.hpp"
#include "judge/orders/arguments.hpp"
#include "judge/orders/attention.hpp"
#include "judge/orders/loops.hpp"
#include "judge/orders/terms.hpp"
#include "judge/orders/transforms.hpp"
#include "judge/runs/notes.hpp"
#include "judge/runs/raised.hpp"

namespace ouroboros::judge {
namespace {

/// Gives results in the place of an operator's: in the tensors that it is to write them to (`out=`,
/// or its own in place), where there are such.
void give(const Operation& operation, const Tensors& made) {
  const auto& arguments = operation.schema.arguments();
  auto& stack = operation.stack;
  Tensors into;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& value = operation.arguments()[i];
    if (is_written(arguments[i]) && value.isTensor()) into.push_back(value.toTensor());
  }
  torch::jit::drop(stack, arguments.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (i >= into.size()) {
      torch::jit::push(stack, made[i]);
      continue;
    }
    if (into[i].sizes() != made[i].sizes()) into[i].resize_(made[i].sizes());
    torch::jit::push(stack, into[i].copy_(made[i]));
  }
}

/// Whether autograd is to know how the arguments' results come about, which it does not of loops.
bool is_recorded(std::span<const c10::IValue> arguments) {
  return at::GradMode::is_enabled() &&
         std::any_of(arguments.begin(), arguments.end(), [](const c10::IValue& value) {
           if (value.isTensor()) return value.toTensor().requires_grad();
           if (!value.isTensorList()) return false;
           const auto list = value.toTensorVector();
           return std::any_of(list.begin(), list.end(),
                              [](const at::Tensor& one) { return one.requires_grad(); });
         });
}

/// The same where autograd is to know how results came about: it does of the operator's, whose
/// numbers are others then. What it saved of them for the way back are these, too.
void give_recorded(const Operation& operation, const Tensors& made) {
  operation.op.callBoxed(operation.stack);
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!made[i].defined()) continue;  // A gradient that nobody asked for.
    const auto& result = operation.results()[i].toTensor();
    // Not an operation of its own: `data` is the memory without its history.
    result.variable_data().copy_(made[i]);
  }
}

/// What an operator that adds up makes by a plain loop, in one of several orders; empty where it is
/// not known how it adds.
std::optional<Tensors> made_in_loops(Pass& pass, const Operation& operation) {
  const at::NoGradGuard no_grad;
  auto& loops = *pass.inside.loops;
  const auto& [name, schema, stack] =
      std::tie(operation.name, operation.schema, std::as_const(operation.stack));
  if (const auto made = pass.deviations.sum(name, schema, stack)) return Tensors{*made};
  if (auto made = by_loop(name, schema, stack, loops.order)) {
    loops.left_range =
        loops.left_range || (name == "prod" && !made->front().isfinite().all().item().toBool());
    return made;
  }
  if (const auto made = pass.addends.product(name, schema, stack, loops.order)) {
    return Tensors{*made};
  }
  if (const auto made = transform_by_loops(name, schema, stack, loops.order)) {
    return Tensors{*made};
  }
  return std::nullopt;
}

}  // namespace

void take_apart(const Operation& operation) {
  const auto local = c10::impl::tls_local_dispatch_key_set();
  const c10::impl::ForceDispatchKeyGuard seen(local.included_, local.excluded_.remove(promotion));
  operation.op.callBoxedForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd,
                                       operation.stack);
}

void take_attention_apart(const Operation& operation, at::ScalarType target) {
  for (auto& value : operation.arguments()) raise_value(value, target);
  give(operation, attention_by_parts(operation.name, operation.schema, operation.stack));
}

bool add_in_loops(Pass& pass, const Operation& operation) {
  auto& loops = *pass.inside.loops;
  const auto& [name, op, stack] = std::tie(operation.name, operation.op, operation.stack);
  auto deviation = deviation_of(pass, operation);
  if (const auto made = made_in_loops(pass, operation)) {
    loops.any = true;
    // What batch norm knows of other batches is brought up to date by itself alone.
    if (name == "batch_norm" || is_recorded(operation.arguments())) {
      give_recorded(operation, *made);
    } else {
      give(operation, *made);
    }
    if (deviation) pass.deviations.note(stack.back(), std::move(*deviation));
    return true;
  }
  if (adds_nothing(name, op, stack)) return false;
  if (op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd)) {
    take_apart(operation);
    return true;
  }
  if (const auto terms = terms_of_window(name, op.schema(), stack)) {
    loops.any = true;
    loops.terms = std::max(loops.terms, *terms);
    return false;
  }
  loops.all = false;
  return false;
}

}  // namespace ouroboros::judge
