#include "judge/runs/promote.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/ScopeExit.h>
#include <torch/library.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "judge/base/tensors.hpp"
#include "judge/judge.hpp"
#include "judge/observed/mark_notes.hpp"
#include "judge/orders/arguments.hpp"
#include "judge/orders/attention.hpp"
#include "judge/orders/loops.hpp"
#include "judge/orders/products.hpp"
#include "judge/orders/terms.hpp"
#include "judge/runs/arguments_moved.hpp"
#include "judge/runs/edges.hpp"
#include "judge/runs/looped.hpp"
#include "judge/runs/notes.hpp"
#include "judge/runs/operation.hpp"
#include "judge/runs/pass.hpp"
#include "judge/runs/raised.hpp"
#include "judge/runs/results_moved.hpp"
#include "judge/runs/ties.hpp"

// The oracle runs the reference in float64. A reference that casts its input to float32 would make
// a float32 oracle, so every cast to a lower type is turned into one to float64 on its way through
// the dispatcher. The dispatch key that is borrowed for this is one that LibTorch keeps for tests
// of just this mechanism; it is switched on for the calling thread and for one call of a reference,
// and it works for callables from Python as well, because their operators pass the same dispatcher.
namespace ouroboros::judge {
namespace {

constexpr c10::DispatchKeySet below_promotion(c10::DispatchKeySet::FULL_AFTER, promotion);

/// What this thread is at while `promoted` runs.
thread_local Pass pass;

/// Of `terms`, or else along one axis of what is given.
void note_longest(std::int64_t terms, std::span<const c10::IValue> arguments,
                  std::int64_t& longest) {
  longest = std::max(longest, terms);
  if (terms > 1) return;
  const auto note = [&longest](const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    for (const auto extent : tensor.sizes()) longest = std::max(longest, extent);
  };
  for (const auto& value : arguments) {
    if (value.isTensor()) note(value.toTensor());
    if (!value.isTensorList()) continue;
    for (const at::Tensor& one : value.toTensorVector()) note(one);
  }
}

/// The largest finite number of it, if it is larger.
void note_product(const c10::IValue& result, double& largest) {
  if (!result.isTensor() || !result.toTensor().is_floating_point()) return;
  const auto size = result.toTensor().abs().nan_to_num_(0.0, 0.0);
  if (size.numel() == 0) return;
  largest = std::max(largest, size.max().item().toDouble());
}

/// The terms of sums, and what is given to operators that add.
void note_sums(const Operation& operation) {
  const auto& inside = pass.inside;
  const auto& [name, schema, stack] = std::tie(operation.name, operation.schema, operation.stack);
  if (inside.most_terms != nullptr) {
    *inside.most_terms = std::max(*inside.most_terms, terms_of(name, schema, stack));
  }
  if (inside.longest_added != nullptr && !adds_nothing(name, operation.op, stack)) {
    note_longest(terms_of(name, schema, stack), operation.arguments(), *inside.longest_added);
  }
}

/// Python's constructors, such as `torch.tensor([0.5])`, fill the memory that `empty` gives them
/// themselves, as numbers of the type that they asked for. No mode of Python's is to see that call,
/// which tells it from `torch.empty`.
bool is_for_a_constructor(std::string_view name) {
  return name == "empty" &&
         c10::impl::tls_local_dispatch_key_set().excluded_.has(c10::DispatchKey::Python);
}

/// While functions are transformed (`torch.func.grad`, `torch.vmap`), what is seen here are
/// wrappers. It is seen again with the tensors in them.
bool are_transformed() {
  const auto& included = c10::impl::tls_local_dispatch_key_set().included_;
  return included.has(c10::DispatchKey::FuncTorchDynamicLayerFrontMode) ||
         included.has(c10::DispatchKey::FuncTorchDynamicLayerBackMode);
}

/// Whether the run looks at what attention is made of.
bool looks_inside(const Inside& inside) {
  return inside.factors || inside.loops != nullptr || inside.step != 0.0 ||
         inside.results != nullptr;
}

void count_call() {
  const auto& inside = pass.inside;
  ++pass.calls;
  if (inside.calls != nullptr) *inside.calls = pass.calls;
  if (inside.most_calls > 0 && pass.calls > inside.most_calls) {
    throw ReferenceRaised("the reference does not come to an end where its numbers move");
  }
}

/// The operator as it is, but for its type.
void call_raised(const Operation& operation) {
  operation.op.callBoxed(operation.stack);
  for (auto& value : operation.results()) raise_value(value, pass.target);
}

/// The operator with all that is to happen to what it is given and to what it returns.
void call(const Operation& operation) {
  const auto& inside = pass.inside;
  Ordering ordering(pass, operation);
  auto given = inside.given != nullptr ? keep_unmoved(pass, operation) : std::nullopt;
  ordering.break_ties(given.has_value());
  const Notes notes(pass, operation);
  const ResultsMoved moved(pass, operation, notes.follows(), notes.whole());
  notes.forget_written();
  keep_targets_in_range(operation);
  call_beside(pass, operation, std::move(given));
  for (auto& value : operation.results()) raise_value(value, pass.target);
  notes.keep();
  ordering.note();
  if (inside.largest_product != nullptr && multiplies_matrices(operation.name)) {
    note_product(operation.stack.back(), *inside.largest_product);
  }
  moved.apply();
}

void promote(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const Operation operation(op, *stack);
  const auto& inside = pass.inside;
  const auto name = operation.name;
  const bool attention = looks_inside(inside);
  if (attention && has_attention(name, operation.schema, *stack)) {
    return take_attention_apart(operation, pass.target);
  }
  if (are_transformed() || (attention && name == "_scaled_dot_product_attention_math")) {
    return op.redispatchBoxed(keys & below_promotion, stack);
  }
  // Operators are seen whole: what a composite one does inside is not intercepted again.
  const c10::impl::ExcludeDispatchKeyGuard outside(promotion);
  if (is_for_a_constructor(name)) return op.callBoxed(stack);
  count_call();
  raise_arguments(operation, pass.target);
  move_arguments(pass, operation);
  if (!are_dense(operation.arguments())) return call_raised(operation);
  if (name == "cdist" && pass.target == at::kDouble) operation.arguments()[3] = by_differences;
  if (inside.marks != nullptr) {
    note_marks(name, operation.schema, *stack, pass.computed, *inside.marks);
  }
  if (inside.loops != nullptr && add_in_loops(pass, operation)) return;
  // It is a logarithm of a softmax that counts, and is honest as lse - x.
  if (inside.step != 0.0 && name == "cross_entropy_loss") return take_apart(operation);
  note_sums(operation);
  call(operation);
}

}  // namespace

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&promote>());
}

Tensors promoted(const Reference& reference, const Tensors& inputs, at::ScalarType to,
                 const Inside& within) {
  const auto forget_all = c10::make_scope_exit([] { pass = Pass(); });
  pass.target = to;
  pass.inside = within;
  Tensors raised_inputs;
  raised_inputs.reserve(inputs.size());
  for (const auto& input : inputs) {
    const auto wide = raised(input, to);
    raised_inputs.push_back(within.favoured != nullptr ? favoured_input(within, wide) : wide);
  }
  if (within.given != nullptr) pass.unmoved = Unmoved(raised_inputs, *within.given);
  if (within.of_differences != 0.0) pass.blends = Blends(raised_inputs);
  for (const auto& input : raised_inputs) {
    pass.derived.note(input);
    pass.computed.note(input);
    if (within.of_differences != 0.0 && is_mask(input)) pass.whole_numbers.note(input);
  }
  // Autocasting would lower what was raised.
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const c10::impl::IncludeDispatchKeyGuard promoting(promotion);
  return reference(raised_inputs);
}

}  // namespace ouroboros::judge
