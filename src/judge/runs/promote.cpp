#include "judge/runs/promote.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/maximum.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/ScopeExit.h>
#include <torch/library.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "judge/base/tensors.hpp"
#include "judge/judge.hpp"
#include "judge/observed/mark_notes.hpp"
#include "judge/orders/arguments.hpp"
#include "judge/orders/attention.hpp"
#include "judge/orders/loops.hpp"
#include "judge/orders/products.hpp"
#include "judge/orders/terms.hpp"
#include "judge/orders/transforms.hpp"
#include "judge/orders/walk.hpp"
#include "judge/runs/backward.hpp"
#include "judge/runs/complements.hpp"
#include "judge/runs/edges.hpp"
#include "judge/runs/logistic.hpp"
#include "judge/runs/pass.hpp"
#include "judge/runs/results_moved.hpp"
#include "judge/runs/terms_moved.hpp"
#include "judge/runs/ties.hpp"

// The oracle runs the reference in float64. A reference that casts its input to float32 would make
// a float32 oracle, so every cast to a lower type is turned into one to float64 on its way through
// the dispatcher. The dispatch key that is borrowed for this is one that LibTorch keeps for tests
// of just this mechanism; it is switched on for the calling thread and for one call of a reference,
// and it works for callables from Python as well, because their operators pass the same dispatcher.
namespace ouroboros::judge {
namespace {

constexpr auto promotion = c10::DispatchKey::TESTING_ONLY_GenericMode;
constexpr c10::DispatchKeySet below_promotion(c10::DispatchKeySet::FULL_AFTER, promotion);

/// What this thread is at while `promoted` runs.
thread_local Pass pass;

std::optional<at::ScalarType> raised(at::ScalarType type) noexcept {
  const bool wide = pass.target == at::kDouble;
  if (type == at::kComplexHalf) return wide ? at::kComplexDouble : at::kComplexFloat;
  if (type == at::kComplexFloat && wide) return at::kComplexDouble;
  if (!c10::isFloatingType(type) || c10::elementSize(type) >= c10::elementSize(pass.target)) {
    return std::nullopt;
  }
  return pass.target;
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

/// "softplus" of "aten::softplus", and of the form that works in place; "erf" of
/// "aten::special_erf", which is the same by another name.
std::string_view plain_name(const c10::FunctionSchema& schema) {
  std::string_view name = schema.name();
  if (!name.starts_with("aten::")) return {};
  name.remove_prefix(6);
  if (name.starts_with("special_")) name.remove_prefix(8);
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
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

/// Of `terms`, or else along one axis of what is given.
void note_longest(std::int64_t terms, std::span<const c10::IValue> arguments) {
  auto& longest = *pass.inside.longest_added;
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

void note_product(const c10::IValue& result) {
  if (!result.isTensor() || !result.toTensor().is_floating_point()) return;
  const auto size = result.toTensor().abs().nan_to_num_(0.0, 0.0);
  if (size.numel() == 0) return;
  *pass.inside.largest_product =
      std::max(*pass.inside.largest_product, size.max().item().toDouble());
}

/// Of views as much as what they look at.
void note_elements(const c10::IValue& result) {
  const auto note = [](const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    const auto held = static_cast<std::int64_t>(tensor.storage().nbytes() / tensor.itemsize());
    pass.inside.results->push_back(std::min(tensor.numel(), held));
  };
  if (result.isTensor()) return note(result.toTensor());
  if (!result.isTensorList()) return;
  for (const at::Tensor& one : result.toTensorVector()) note(one);
}

/// Whether nothing but the shape counts of what an operator is given.
bool takes_shape_alone(std::string_view name) {
  return name.ends_with("_like") || name.starts_with("new_");
}

/// An operator that is composed of others, operator by operator.
void take_apart(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto local = c10::impl::tls_local_dispatch_key_set();
  const c10::impl::ForceDispatchKeyGuard seen(local.included_, local.excluded_.remove(promotion));
  op.callBoxedForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd, *stack);
}

/// Gives results in the place of an operator's: in the tensors that it is to write them to (`out=`,
/// or its own in place), where there are such.
void give(const c10::FunctionSchema& schema, torch::jit::Stack* stack, const Tensors& made) {
  const auto& arguments = schema.arguments();
  Tensors into;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& value = (*stack)[stack->size() - arguments.size() + i];
    if (is_written(arguments[i]) && value.isTensor()) into.push_back(value.toTensor());
  }
  torch::jit::drop(*stack, arguments.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (i >= into.size()) {
      torch::jit::push(*stack, made[i]);
      continue;
    }
    if (into[i].sizes() != made[i].sizes()) into[i].resize_(made[i].sizes());
    torch::jit::push(*stack, into[i].copy_(made[i]));
  }
}

void take_attention_apart(const c10::FunctionSchema& schema, torch::jit::Stack* stack) {
  for (auto& value : std::span(*stack).last(schema.arguments().size())) raise_value(value);
  give(schema, stack, attention_by_parts(plain_name(schema), schema, *stack));
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
void give_recorded(const c10::OperatorHandle& op, torch::jit::Stack* stack, const Tensors& made) {
  op.callBoxed(stack);
  const auto first = stack->size() - op.schema().returns().size();
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!made[i].defined()) continue;  // A gradient that nobody asked for.
    const auto& result = (*stack)[first + i].toTensor();
    // Not an operation of its own: `data` is the memory without its history.
    result.variable_data().copy_(made[i]);
  }
}

/// What is to be noted of a variance that the reference writes out: in the last order, in which
/// one that is an operator is made in one pass, too.
std::optional<Deviations::Known> deviation_of(std::string_view name,
                                              const c10::FunctionSchema& schema,
                                              const torch::jit::Stack& stack) {
  if (pass.inside.loops == nullptr || pass.inside.loops->order != orders - 1) return std::nullopt;
  return pass.deviations.meet(name, schema, stack);
}

/// What an operator that adds up makes by a plain loop, in one of several orders; empty where it is
/// not known how it adds.
std::optional<Tensors> made_in_loops(std::string_view name, const c10::OperatorHandle& op,
                                     const torch::jit::Stack& stack) {
  const at::NoGradGuard no_grad;
  auto& loops = *pass.inside.loops;
  const auto& schema = op.schema();
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

/// Adds up by a plain loop. False where the operator remains to be called.
bool add_in_loops(std::string_view name, const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  auto& loops = *pass.inside.loops;
  auto deviation = deviation_of(name, op.schema(), *stack);
  if (const auto made = made_in_loops(name, op, *stack)) {
    loops.any = true;
    // What batch norm knows of other batches is brought up to date by itself alone.
    if (name == "batch_norm" ||
        is_recorded(std::span(*stack).last(op.schema().arguments().size()))) {
      give_recorded(op, stack, *made);
    } else {
      give(op.schema(), stack, *made);
    }
    if (deviation) pass.deviations.note(stack->back(), std::move(*deviation));
    return true;
  }
  if (adds_nothing(name, op, *stack)) return false;
  if (op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd)) {
    take_apart(op, stack);
    return true;
  }
  if (const auto terms = terms_of_window(name, op.schema(), *stack)) {
    loops.any = true;
    loops.terms = std::max(loops.terms, *terms);
    return false;
  }
  loops.all = false;
  return false;
}

/// Python's constructors, such as `torch.tensor([0.5])`, fill the memory that `empty` gives them
/// themselves, as numbers of the type that they asked for. No mode of Python's is to see that call,
/// which tells it from `torch.empty`.
bool is_for_a_constructor(std::string_view name) {
  return name == "empty" &&
         c10::impl::tls_local_dispatch_key_set().excluded_.has(c10::DispatchKey::Python);
}

/// Bits of integers are the same whatever is promoted.
bool reinterprets_reals(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  if (schema.name() != "aten::view" || schema.overload_name() != "dtype") return false;
  const auto& self = stack[stack.size() - 2].toTensor();
  return !c10::isIntegralType(self.scalar_type(), /*includeBool=*/true) ||
         !c10::isIntegralType(stack.back().toScalarType(), /*includeBool=*/true);
}

/// Sparse and nested tensors have no numbers to be moved one by one.
bool are_dense(std::span<const c10::IValue> values) {
  return std::none_of(values.begin(), values.end(), [](const c10::IValue& value) {
    return value.isTensor() && value.toTensor().defined() &&
           (value.toTensor().layout() != at::kStrided || value.toTensor().is_nested());
  });
}

void call_raised(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  op.callBoxed(stack);
  for (auto i = stack->size() - op.schema().returns().size(); i < stack->size(); ++i) {
    raise_value((*stack)[i]);
  }
}

/// While functions are transformed (`torch.func.grad`, `torch.vmap`), what is seen here are
/// wrappers. It is seen again with the tensors in them.
bool are_transformed() {
  const auto& included = c10::impl::tls_local_dispatch_key_set().included_;
  return included.has(c10::DispatchKey::FuncTorchDynamicLayerFrontMode) ||
         included.has(c10::DispatchKey::FuncTorchDynamicLayerBackMode);
}

/// Whether a generator's numbers are other ones in float64.
bool draws_by_dtype(std::string_view name, const c10::FunctionSchema& schema) {
  return is_one_of(name, {"rand", "rand_like", "randn", "randn_like", "normal", "uniform"}) ||
         (name == "bernoulli" && !schema.is_mutable());
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

void promote(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const Inside& inside = pass.inside;
  const auto name = plain_name(op.schema());
  if (inside.factors || inside.loops != nullptr || inside.step != 0.0 ||
      inside.results != nullptr) {
    if (name == "_scaled_dot_product_attention_math") {
      return op.redispatchBoxed(keys & below_promotion, stack);
    }
    if (has_attention(name, op.schema(), *stack)) return take_attention_apart(op.schema(), stack);
  }
  if (are_transformed()) {
    return op.redispatchBoxed(keys & below_promotion, stack);
  }
  // Operators are seen whole: what a composite one does inside is not intercepted again.
  const c10::impl::ExcludeDispatchKeyGuard outside(promotion);
  if (is_for_a_constructor(name)) return op.callBoxed(stack);
  const auto& schema = op.schema();
  if (reinterprets_reals(schema, *stack)) {
    throw ReferenceFault(
        "the reference reinterprets bits (view with a dtype), which has no meaning in float64: "
        "give the problem an explicit oracle");
  }
  const auto& arguments = schema.arguments();
  const auto begin = stack->size() - arguments.size();
  const bool draws = pass.target == at::kDouble && draws_by_dtype(name, schema);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    auto& value = (*stack)[begin + i];
    if (draws) {
      require_own_dtype(value, is_dtype(arguments[i]));
    } else if (is_dtype(arguments[i]) && value.isInt()) {
      if (const auto type = raised(value.toScalarType())) value = c10::IValue(*type);
    } else if (!is_written(arguments[i])) {
      // Constants that a reference brought along: `a.to(b)` and `a.type_as(b)` must not lower `a`.
      raise_value(value);
      if (!are_dense({&value, 1})) continue;
      const auto become = [&value](at::Tensor (*other)(Pass&, const at::Tensor&)) {
        change_tensors(value, [other](const at::Tensor& one) { return other(pass, one); });
      };
      if (inside.factors && multiplies_matrices(name)) become(as_factor);
      if (inside.terms != 0.0 && adds(name)) become(as_term);
      if (inside.large_wholes != 0.0 && adds(name)) become(as_large_whole);
    }
  }
  if (!are_dense(std::span(*stack).subspan(begin))) return call_raised(op, stack);
  if (name == "cdist" && pass.target == at::kDouble) (*stack)[begin + 3] = by_differences;
  if (inside.marks != nullptr) note_marks(name, schema, *stack, pass.computed, *inside.marks);
  if (inside.loops != nullptr && add_in_loops(name, op, stack)) return;
  // It is a logarithm of a softmax that counts, and is honest as lse - x.
  if (inside.step != 0.0 && name == "cross_entropy_loss") return take_apart(op, stack);
  if (inside.most_terms != nullptr) {
    *inside.most_terms = std::max(*inside.most_terms, terms_of(name, schema, *stack));
  }
  if (inside.longest_added != nullptr && !adds_nothing(name, op, *stack)) {
    note_longest(terms_of(name, schema, *stack), std::span(*stack).subspan(begin));
  }
  if (inside.logistic != nullptr) inside.logistic->meet(name, std::span(*stack).subspan(begin));
  // Of numbers that nobody computes the first of equal ones is the answer, and no other.
  const bool first = inside.ranks != nullptr && inside.given != nullptr &&
                     promises_first(name, schema) &&
                     !pass.unmoved.arguments(schema, *stack, pass.computed);
  auto chosen = inside.given != nullptr ? keep_unmoved(pass, name, schema, *stack) : std::nullopt;
  at::Tensor ordered;
  std::int64_t dim = -1;
  const bool open =
      (inside.ties != 0.0 || inside.ranks != nullptr) && leaves_ties_open(name, schema, *stack);
  if ((open || first) && (*stack)[begin].isTensor()) {
    ordered = (*stack)[begin].toTensor();
    dim = ordered_along(schema, *stack, ordered.dim());
    if (open && inside.ties != 0.0 && dim >= 0) {
      break_ties(inside, (*stack)[begin], chosen.has_value());
    }
  }
  auto size = arguments.empty() ? std::nullopt : size_of_terms(inside, name, schema, *stack);
  if (!size && inside.step != 0.0) size = size_of_complement(name, schema, *stack);
  const auto given = std::span(*stack).subspan(begin);
  const bool follows =
      inside.of_differences != 0.0 && !takes_shape_alone(name) && pass.derived.any(given);
  const bool computes = (inside.given != nullptr || inside.marks != nullptr) &&
                        !takes_shape_alone(name) &&
                        (pass.computed.any(given) || !makes_constants(name, schema));
  const bool whole = follows && pass.whole_numbers.come_of(name, given, pass.derived);
  auto terms = whole ? pass.scaled_differences.terms_of(name, given) : std::nullopt;
  auto factors = follows ? Blends::meet(name, given) : std::nullopt;
  auto multiplied = follows || inside.factors ? DotProducts::meet(name, given) : std::nullopt;
  const auto sums = inside.factors ? pass.dot_products.sums(name, schema, *stack) : std::nullopt;
  if (!size && follows && !whole) {
    size = pass.blends.size_of(name, given, pass.derived);
    if (!size) size = pass.scaled_differences.size_of(name, given, pass.derived);
    if (!size) size = size_of_difference(name, schema, *stack);
    if (const auto of_products = pass.dot_products.size_of(name, schema, *stack)) {
      size = size ? at::maximum(*size, *of_products) : *of_products;
    }
    if (!size) size = size_of_difference_backward(name, schema, *stack);
    if (size) size->mul_(inside.of_differences);
  }
  auto quantised =
      inside.loops != nullptr ? pass.addends.of_result(name, op, *stack) : Addends::Known();
  auto deviation = deviation_of(name, schema, *stack);
  const auto rescaled =
      inside.marks != nullptr ? inside.marks->rescaled.meet(name, schema, *stack) : std::nullopt;
  const bool remembers =
      follows || inside.factors || inside.loops != nullptr || inside.marks != nullptr;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!is_written(arguments[i]) || !given[i].isTensor()) continue;
    if (computes) pass.computed.note(given[i]);
    if (!remembers) continue;
    if (inside.marks != nullptr) inside.marks->rescaled.forget(given[i].toTensor());
    pass.addends.forget(given[i].toTensor());
    pass.deviations.forget(given[i].toTensor());
    pass.whole_numbers.forget(given[i].toTensor());
    pass.scaled_differences.forget(given[i].toTensor());
    pass.blends.forget(given[i].toTensor());
    pass.dot_products.forget(given[i].toTensor());
  }
  const auto shift = inside.step != 0.0 ? size_of_shift(name, schema, *stack) : std::nullopt;
  const bool probabilities = inside.probabilities && is_one_of(name, {"softmax", "log_softmax"});
  const bool power = is_broken_power(name, std::span<const c10::IValue>(*stack).subspan(begin)) ||
                     (!follows && is_one_of(name, {"exp", "exp2", "pow"}));
  const bool inexact =
      inside.of_differences != 0.0 && (probabilities || power || is_inexact(name, !follows));
  const auto becomes = inside.marks != nullptr
                           ? inside.marks->scores.meet(name, std::span(*stack).subspan(begin))
                           : Scores::Kind::constant;
  const bool of_integers =
      inside.marks != nullptr && inside.marks->exact.meet(name, std::span(*stack).subspan(begin));
  const bool cuts = chosen && is_one_of(name, {"hardshrink", "threshold"});
  const auto moves = cuts ? (*stack)[begin].toTensor() : at::Tensor();
  const auto stays = cuts ? chosen->front().toTensor() : at::Tensor();
  keep_targets_in_range(name, &(*stack)[begin]);
  op.callBoxed(stack);
  if (chosen) {
    op.callBoxed(&*chosen);
    if (cuts) stack->back() = left_as_given(moves, stays, chosen->back().toTensor());
    pass.unmoved.note(*stack, *chosen);
    if (inside.ties == 0.0 && inside.favoured == nullptr) keep_places(*stack, *chosen);
  } else if (inside.favoured != nullptr) {
    favour_results(inside, name, schema, *stack);
  }
  const auto returned = schema.returns().size();
  for (auto i = stack->size() - returned; i < stack->size(); ++i) {
    raise_value((*stack)[i]);
    if (follows) pass.derived.note((*stack)[i]);
    if (computes) pass.computed.note((*stack)[i]);
    if (whole) pass.whole_numbers.note((*stack)[i]);
    if (terms) pass.scaled_differences.note((*stack)[i].toTensor(), std::move(*terms));
    if (factors) pass.blends.note(std::move(*factors), (*stack)[i].toTensor());
    if (multiplied) pass.dot_products.note(std::move(*multiplied), (*stack)[i].toTensor());
    pass.addends.note((*stack)[i], std::move(quantised));
    if (deviation) pass.deviations.note((*stack)[i], std::move(*deviation));
    if (inside.marks != nullptr) inside.marks->scores.note((*stack)[i], becomes);
    if (of_integers) inside.marks->exact.note((*stack)[i]);
    if (rescaled) inside.marks->rescaled.note((*stack)[i], *rescaled);
    if (inside.logistic != nullptr) inside.logistic->note((*stack)[i]);
    if (inside.results != nullptr) note_elements((*stack)[i]);
  }
  if (ordered.defined() && ordered.dim() > 0 && dim >= 0 && returned > 0) {
    const bool exact = chosen.has_value() || !ordered.is_floating_point();
    if (inside.ranks != nullptr) note_ranks(inside, ordered, stack->back(), dim, exact, first);
    if (open && inside.ties != 0.0 && returned == 2) put_in_order(ordered, dim, *stack);
  }
  if (inside.largest_product != nullptr && multiplies_matrices(name)) note_product(stack->back());
  if (inside.bits_of_products > 0 &&
      (multiplies_matrices(name) || is_one_of(name, {"add", "sub", "rsub"}))) {
    change_tensors(stack->back(), [&](const at::Tensor& product) {
      return of_few_bits(product, inside.bits_of_products);
    });
  }
  if (sums) move_sums(pass, stack->back().toTensor(), *sums);
  if (size && returned > 0) {
    const auto& first_result = (*stack)[stack->size() - returned];
    if (first_result.isTensor()) move_result(pass, first_result.toTensor(), *size);
  }
  if (inexact && returned == 1 && stack->back().isTensor()) {
    move_inexact(pass, stack->back().toTensor(), power);
  }
  if (shift && stack->back().isTensor()) {
    move_logarithm(pass, name, stack->back().toTensor(), *shift);
  }
  if (inside.step != 0.0 && returned == 1 && stack->back().isTensor()) {
    keep_in_range(name, stack->back().toTensor());
  }
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
    auto raised = raise_tensor(input);
    if (within.favoured != nullptr) raised = favoured_input(pass.inside, raised);
    raised_inputs.push_back(std::move(raised));
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
