#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/_unique.h>
#include <ATen/ops/frexp.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/ScopeExit.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "judge/addends.hpp"
#include "judge/arguments.hpp"
#include "judge/attention.hpp"
#include "judge/backward.hpp"
#include "judge/blends.hpp"
#include "judge/complements.hpp"
#include "judge/deviations.hpp"
#include "judge/dot_products.hpp"
#include "judge/judge.hpp"
#include "judge/logistic.hpp"
#include "judge/loops.hpp"
#include "judge/marks.hpp"
#include "judge/products.hpp"
#include "judge/random.hpp"
#include "judge/ranks.hpp"
#include "judge/run.hpp"
#include "judge/scaled_differences.hpp"
#include "judge/tensor_set.hpp"
#include "judge/tensors.hpp"
#include "judge/terms.hpp"
#include "judge/transforms.hpp"
#include "judge/unmoved.hpp"
#include "judge/walk.hpp"
#include "judge/whole_numbers.hpp"

// The oracle runs the reference in float64. A reference that casts its input to float32 would make
// a float32 oracle, so every cast to a lower type is turned into one to float64 on its way through
// the dispatcher. The dispatch key that is borrowed for this is one that LibTorch keeps for tests
// of just this mechanism; it is switched on for the calling thread and for one call of a reference,
// and it works for callables from Python as well, because their operators pass the same dispatcher.
namespace ouroboros::judge {
namespace {

constexpr auto promotion = c10::DispatchKey::TESTING_ONLY_GenericMode;
constexpr c10::DispatchKeySet below_promotion(c10::DispatchKeySet::FULL_AFTER, promotion);

/// What this thread promotes to while `promoted` runs: float64 or float32.
thread_local at::ScalarType target = at::kDouble;
thread_local Inside inside;
thread_local std::uint64_t moves_made = 0;
thread_local Unmoved unmoved;
/// What follows from the inputs. All other tensors are constants, such as `arange` makes: they are
/// what they are in any arithmetic.
thread_local TensorSet derived;
thread_local TensorSet computed;  ///< All but constants of the reference's own: inputs, too.
thread_local WholeNumbers whole_numbers;
thread_local ScaledDifferences scaled_differences;
thread_local Blends blends;
thread_local DotProducts dot_products;
thread_local Addends addends;
thread_local Deviations deviations;

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

/// The nearest number of so many bits, by Veltkamp's splitting (Dekker, "A floating-point technique
/// for extending the available precision", 1971).
at::Tensor of_few_bits(const at::Tensor& tensor, int bits) {
  if (tensor.scalar_type() != at::kDouble) return tensor;
  const auto split = tensor * (std::ldexp(1.0, std::numeric_limits<double>::digits - bits) + 1.0);
  const auto rounded = split - (split - tensor);
  return at::where(at::isfinite(split), rounded, tensor);
}

/// `other`, which autograd takes for `tensor`.
at::Tensor in_place_of(const at::Tensor& tensor, const at::Tensor& other) {
  if (!at::GradMode::is_enabled() || !tensor.requires_grad()) return other;
  const auto result = tensor.clone();
  const at::NoGradGuard no_grad;
  result.variable_data().copy_(other);
  return result;
}

/// The nearest ones that the factors' type has, or by a seed that is not zero some of their
/// neighbours, which others may have rounded to.
at::Tensor lowered_factor(const at::Tensor& tensor) {
  const at::NoGradGuard no_grad;
  const auto rounded = [](const at::Tensor& wide) {
    return wide.to(*inside.factors).to(wide.scalar_type());
  };
  const auto nearest = rounded(tensor);
  if (inside.seed == 0) return nearest;
  const auto half = 0.5 * format_of(*dtype_of(*inside.factors)).epsilon;
  const auto key = random::key(inside.seed, moves_made++);
  const auto other = rounded(moved({tensor.contiguous()}, half, Moves::by_place, key).front());
  return at::where(nearest.eq(tensor), nearest, other.to(tensor.scalar_type()));
}

at::Tensor as_factor(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_floating_point()) return tensor;
  return in_place_of(tensor, lowered_factor(tensor));
}

/// What is taken from each row others make of a result that was rounded likewise.
void move_sums(const at::Tensor& result, const DotProducts::Sums& sums) {
  const at::NoGradGuard no_grad;
  const auto half = 0.5 * format_of(*dtype_of(*inside.factors)).epsilon;
  const auto key = random::key(inside.seed, moves_made++);
  const auto ones = at::ones_like(sums.size);
  const auto moves = moved({ones}, half, Moves::by_place, key).front().sub_(1.0);
  result.variable_data().add_(moves.mul_(sums.size).mul(sums.share));
}

/// Whether the operator adds numbers up, which everyone does in an order of their own.
bool adds(std::string_view name) {
  const auto parts = {"sum",       "mean",   "prod",     "norm",   "var",   "std",    "mm",
                      "mv",        "matmul", "dot",      "conv",   "dist",  "loss",   "_add",
                      "avg_",      "cov",    "fft",      "linear", "inner", "einsum", "tensordot",
                      "attention", "cosine", "upsample", "reduce", "bag",   "trapez"};
  return std::any_of(parts.begin(), parts.end(),
                     [name](std::string_view part) { return name.find(part) != name.npos; });
}

/// Terms of a sum with moves of their own. Whole numbers are counted: the inputs moved, and so did
/// all that came of them.
at::Tensor as_term(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.scalar_type() != at::kDouble) return tensor;
  const auto key = random::key(inside.seed, moves_made++);
  const auto other =
      moved({tensor.detach().contiguous()}, inside.terms, Moves::by_place, key).front();
  return in_place_of(tensor, at::where(tensor.eq(tensor.round()), tensor.detach(), other));
}

/// Whole numbers too large for float32 to add up exactly, moved as real inputs are.
at::Tensor as_large_whole(const at::Tensor& tensor) {
  constexpr double added_exactly = 0x1p12;  // Some thousands of them.
  if (!tensor.defined() || tensor.scalar_type() != at::kDouble) return tensor;
  const auto large = tensor.eq(tensor.round()).logical_and_(tensor.abs().gt(added_exactly));
  if (!large.any().item().toBool()) return tensor;
  const auto key = random::key(inside.seed, moves_made++);
  const auto other =
      moved({tensor.detach().contiguous()}, inside.large_wholes, Moves::by_place, key).front();
  return in_place_of(tensor, at::where(large, other, tensor.detach()));
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

/// Whether the operator puts numbers in order and says nothing of equal ones. `argmax`, and `max`
/// of a dimension, promise the first.
bool leaves_ties_open(std::string_view name, const c10::FunctionSchema& schema,
                      const torch::jit::Stack& stack) {
  if (!is_one_of(name, {"topk", "sort", "argsort", "kthvalue", "median", "nanmedian"})) {
    return false;
  }
  const auto* stable = argument("stable", schema, stack);
  return stable == nullptr || !stable->isBool() || !stable->toBool();
}

/// What is below the numbers of float32 is zero to whoever computes in it. Integers become their
/// ranks: no real type has them all.
at::Tensor as_compared(const at::Tensor& numbers) {
  if (!numbers.is_floating_point()) {
    return std::get<1>(at::_unique(numbers, /*sorted=*/true, /*return_inverse=*/true))
        .to(at::kDouble);
  }
  return inside.single ? numbers.to(at::kFloat).to(at::kDouble) : numbers;
}

/// The dimension that an operator orders along; -1 where it has none.
std::int64_t ordered_along(const c10::FunctionSchema& schema, const torch::jit::Stack& stack,
                           std::int64_t dims) {
  const auto* dim = argument("dim", schema, stack);
  if (dim == nullptr || !dim->isInt()) return -1;
  return dim->toInt() < 0 ? dim->toInt() + dims : dim->toInt();
}

/// Ties were broken for the order's sake alone: numbers that were put in order are what they were.
void put_in_order(const at::Tensor& numbers, std::int64_t dim, torch::jit::Stack& stack) {
  auto& values = stack[stack.size() - 2];
  if (!values.isTensor() || !stack.back().isTensor()) return;
  const auto& places = stack.back().toTensor();
  values = places.dim() < numbers.dim() ? numbers.gather(dim, places.unsqueeze(dim)).squeeze(dim)
                                        : numbers.gather(dim, places);
}

/// Whether the operator says where one number lies, and which of equal ones that is.
bool promises_first(std::string_view name, const c10::FunctionSchema& schema) {
  return is_one_of(name, {"argmax", "argmin"}) ||
         (is_one_of(name, {"max", "min"}) && schema.returns().size() == 2);
}

void note_ranks(const at::Tensor& numbers, const c10::IValue& result, std::int64_t dim, bool given,
                bool first) {
  if (!result.isTensor() || result.toTensor().scalar_type() != at::kLong) return;
  auto places = result.toTensor();
  if (places.dim() < numbers.dim()) places = places.unsqueeze(dim);
  // The reference may write to them afterwards.
  const auto exact = numbers.clone();
  inside.ranks->push_back({as_compared(exact), places, dim, given, first});
  inside.ranks->back().exact = exact;
}

/// Less than what the numbers of a case tells apart, and enough for many.
double next_to_nothing() { return inside.single ? 0x1p-30 : 0x1p-50; }

bool may_be_favoured(const at::Tensor& value) {
  return value.defined() && value.scalar_type() == at::kDouble &&
         value.sizes().equals(inside.favoured->sizes());
}

/// `value` with what is favoured, and not `exact`, by `by` of its size.
at::Tensor in_favour(const at::Tensor& value, const at::Tensor& exact, double by) {
  // What is below the least that is ranked changes places with zero.
  const double least = std::copysign(2.0 * least_ranked(inside.single), by);
  const auto apart = value + value.abs().mul_(by).add_(least);
  return at::where(inside.favoured->logical_and(exact.logical_not()), apart, value);
}

/// Nobody tells an input's numbers apart from what they become. Zeros and ones alone are a mask, of
/// which a zero that is nearly one means something else.
at::Tensor favoured_input(const at::Tensor& input) {
  if (!may_be_favoured(input) || input.mul(input).eq(input).all().item().toBool()) return input;
  const double by = std::copysign(8.0 * next_to_nothing(), inside.favour);
  return in_favour(input, at::isfinite(input).logical_not(), by);
}

/// What an operator computes, and neither passes on nor writes to. Whole numbers are exact, and may
/// be a mask, but not where they are what exponentials underflow or saturate to.
void favour_results(std::string_view name, const c10::FunctionSchema& schema,
                    torch::jit::Stack& stack) {
  const bool of_exponentials = is_one_of(name, {"softmax", "exp", "exp2", "sigmoid", "expit"});
  const auto begin = stack.size() - schema.returns().size();
  for (std::size_t i = 0; i < schema.returns().size(); ++i) {
    auto& result = stack[begin + i];
    if (schema.returns()[i].alias_info() != nullptr || !result.isTensor()) continue;
    const auto made = result.toTensor();
    if (!may_be_favoured(made)) continue;
    const auto exact = of_exponentials ? made.isinf() : made.eq(made.round());
    result = in_favour(made, exact, inside.favour);
  }
}

/// Breaks ties by their place along any dimension. Of numbers that were `given` none but those that
/// are equal are any.
void break_ties(c10::IValue& value, bool given) {
  const auto type = value.isTensor() ? value.toTensor().scalar_type() : at::kFloat;
  const bool whole = at::isIntegralType(type, /*includeBool=*/true);
  if (!whole && type != at::kDouble) return;
  const auto numbers = as_compared(value.toTensor());
  auto places = at::zeros(numbers.sizes(), numbers.options());
  for (std::int64_t d = 0; d < numbers.dim(); ++d) {
    const auto along = at::linspace(0.0, 1.0, numbers.size(d), numbers.options());
    std::vector<std::int64_t> shape(static_cast<std::size_t>(numbers.dim()), 1);
    shape[static_cast<std::size_t>(d)] = numbers.size(d);
    places += along.view(shape);
  }
  const double way = inside.ties < 0.0 ? -1.0 : 1.0;
  if (whole) {  // Neighbouring ranks stay in their order.
    value = numbers + places.mul_(way / static_cast<double>(2 * numbers.dim() + 1));
    return;
  }
  // What is below the least that is ranked changes places with zero.
  const double by = given ? way * next_to_nothing() : inside.ties;
  const double least = 2.0 * way * least_ranked(inside.single);
  const auto apart = numbers + numbers.abs().mul_(by).add_(least).mul_(places);
  value = at::where(at::isfinite(numbers), apart, numbers);
}

/// What tensor cores lose of a product of matrices in eight bits: of each 32 terms, and of the sum
/// before, they keep some 14 bits of the largest (DeepSeek-V3 Technical Report, section 3.3.2), and
/// cut the rest off. Where one of them is nearly all, the others may lose 2^-13 of it each, and all
/// one way: 2^-8 together, which grows as the root of how many such parts there are.
std::optional<at::Tensor> size_of_eight_bits(std::string_view name,
                                             std::span<const c10::IValue> given) {
  constexpr double part_terms = 32;
  constexpr double lost = 0x1p11;  // 2^-8 over 32 2^-24: see Tolerance.
  if (!inside.eight_bits || !is_one_of(name, {"mm", "bmm", "matmul", "linear"})) {
    return std::nullopt;
  }
  const auto& first = given[0].toTensor();
  const auto& second = given[1].toTensor();
  if (first.scalar_type() != at::kDouble || first.dim() < 1 || second.dim() < 1) {
    return std::nullopt;
  }
  const auto factors = name == "linear" ? second.t() : second;
  const auto parts = std::max(1.0, static_cast<double>(first.size(-1)) / part_terms);
  return at::matmul(first.square(), factors.square()).sqrt_().mul_(lost * std::sqrt(parts));
}

/// Of the result of an operator, how large the numbers are that it is the difference of; empty for
/// one that is no such difference.
std::optional<at::Tensor> size_of_terms(std::string_view name, const c10::FunctionSchema& schema,
                                        const torch::jit::Stack& stack) {
  const auto& argument = stack[stack.size() - schema.arguments().size()];
  if (inside.step == 0.0 || !argument.isTensor()) return std::nullopt;
  const auto& x = argument.toTensor();
  if (is_one_of(name, {"gelu", "mish"})) return x.abs();
  if (name == "cosh") return at::full_like(x, few_roundings);  // One, and what float64 loses of it.
  if (auto size = size_of_activation_backward(name, schema, stack)) return size;
  if (inside.tanh_form != 0.0) {
    if (auto size = size_of_tanh_form(name, schema, stack, inside.tanh_form)) return size;
  }
  const auto given = std::span(stack).last(schema.arguments().size());
  if (auto size = size_of_eight_bits(name, given)) return size;
  if (is_one_of(name, {"tanh", "expm1", "log1p", "elu", "celu", "selu", "softplus", "log_sigmoid",
                       "erf", "erfc", "sinh", "asinh", "atanh", "logit", "logaddexp", "logaddexp2",
                       "logcumsumexp", "ndtr", "log_ndtr"})) {
    return at::ones_like(x);
  }
  if (is_one_of(name,
                {"binary_cross_entropy", "binary_cross_entropy_with_logits", "soft_margin_loss"})) {
    const auto* reduction = judge::argument("reduction", schema, stack);
    const auto how = reduction != nullptr && reduction->isInt() ? reduction->toInt() : 0;
    if (how == at::Reduction::None) return at::ones_like(x);
    // Terms err each for itself.
    const double some = std::sqrt(static_cast<double>(x.numel()));
    return at::scalar_tensor(how == at::Reduction::Sum ? some : 1.0 / some, x.options());
  }
  return std::nullopt;
}

/// Of `terms`, or else along one axis of what is given.
void note_longest(std::int64_t terms, std::span<const c10::IValue> arguments) {
  auto& longest = *inside.longest_added;
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
  *inside.largest_product = std::max(*inside.largest_product, size.max().item().toDouble());
}

/// Of views as much as what they look at.
void note_elements(const c10::IValue& result) {
  const auto note = [](const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    const auto held = static_cast<std::int64_t>(tensor.storage().nbytes() / tensor.itemsize());
    inside.results->push_back(std::min(tensor.numel(), held));
  };
  if (result.isTensor()) return note(result.toTensor());
  if (!result.isTensorList()) return;
  for (const at::Tensor& one : result.toTensorVector()) note(one);
}

/// Whether nothing but the shape counts of what an operator is given.
bool takes_shape_alone(std::string_view name) {
  return name.ends_with("_like") || name.starts_with("new_");
}

/// Moves by `size`, of which one number may stand for many of the result's, that then move alike.
/// Autograd, which may have kept the result for a reference's own backward pass, does not see it.
void move_result(const at::Tensor& result, const at::Tensor& size) {
  if (result.scalar_type() != at::kDouble || !at::is_expandable_to(size.sizes(), result.sizes())) {
    return;
  }
  const at::NoGradGuard no_grad;
  const auto key = random::key(inside.seed, moves_made++);
  const auto moves =
      moved({at::ones_like(size)}, inside.step, Moves::by_place, key).front().sub_(1.0);
  result.variable_data().add_(moves.mul_(size));
}

/// Whether others may compute the operator's result otherwise, by more than moves of the inputs
/// show: exponentials near one, as of a decay, and what is made of `constants` alone, which do not
/// move: a table of frequencies, a window.
bool is_inexact(std::string_view name, bool constants) {
  if (is_one_of(name, {"exp", "exp2", "sigmoid", "expit"})) return true;
  return constants && (is_one_of(name, {"expm1", "log", "log2", "log10", "log1p", "pow", "sqrt",
                                        "rsqrt", "reciprocal", "div", "mul", "sin", "cos", "tan",
                                        "tanh", "linspace", "logspace"}) ||
                       name.ends_with("_window"));
}

/// Whether it is a power by a broken constant, no root: who has no function of powers writes
/// `exp2(1.5 log2 x)`, and rounds the exponent.
bool is_broken_power(std::string_view name, std::span<const c10::IValue> given) {
  if (name != "pow" || !given[1].isDouble()) return false;
  const double exponent = given[1].toDouble();
  return exponent != std::round(exponent) && std::fabs(exponent) != 0.5;
}

/// By some roundings of itself; of a power also by as many of its exponent, which `exp2` is given
/// after a product that rounds. What has few bits is the same in any arithmetic; of powers those of
/// two alone: 10 is no `exp(log(1e4) / 4)`.
void move_inexact(const at::Tensor& result, bool power) {
  if (result.scalar_type() != at::kDouble || result.numel() == 0) return;
  const auto few_bits = power ? std::get<0>(at::frexp(result)).abs().eq(0.5)
                              : result.eq(result.to(at::kHalf).to(at::kDouble));
  auto size = result.abs().mul_(few_roundings);
  if (power) size.mul_(result.abs().log_().abs_().add_(1.0));
  const auto kept = few_bits.logical_or(at::isfinite(size).logical_not_());
  move_result(result, size.masked_fill_(kept, 0.0));
}

/// Of probabilities, or of their logarithms.
void move_logarithm(std::string_view name, const at::Tensor& result, const at::Tensor& size) {
  if (name.starts_with("log")) return move_result(result, size);
  const at::NoGradGuard no_grad;
  auto factors = at::ones_like(size);
  move_result(factors, size);
  if (result.scalar_type() == at::kDouble) result.variable_data().mul_(factors);
}

/// Probabilities that moved are some still, and are asked for that by losses.
void keep_in_range(std::string_view name, const at::Tensor& result) {
  const at::NoGradGuard no_grad;
  if (is_one_of(name, {"sigmoid", "expit", "softmax", "_safe_softmax"})) {
    result.variable_data().clamp_(0.0, 1.0);
  } else if (is_one_of(name, {"tanh", "erf"})) {
    result.variable_data().clamp_(-1.0, 1.0);
  }
}

/// Masks that moved are targets still, and losses ask for these to be probabilities.
void keep_targets_in_range(std::string_view name, c10::IValue* arguments) {
  if (name != "binary_cross_entropy") return;
  constexpr double room = 1e-6;  // More than anything moves; what is beyond raises.
  for (const auto* end = arguments + 2; arguments != end; ++arguments) {
    const auto& x = arguments->toTensor();
    const auto near = x.gt(-room).logical_and_(x.lt(1.0 + room));
    *arguments = at::where(near, x.clamp(0.0, 1.0), x);
  }
}

/// Numbers move from bin to bin, but not out of all of them or into one: both ends are told by
/// comparing, where arithmetic tells the bins.
void keep_in_bins(const c10::FunctionSchema& schema, torch::jit::Stack& stack) {
  const auto given = unmoved.arguments(schema, stack, computed);
  const auto* low = argument("min", schema, stack);
  const auto* high = argument("max", schema, stack);
  if (!given || low == nullptr || high == nullptr) return;
  const auto least = constant(*low);
  const auto most = constant(*high);
  if (!least || !most || *least >= *most) return;  // Then they are those of the numbers.
  auto& moved = stack[stack.size() - schema.arguments().size()];
  const auto& numbers = given->front().toTensor();
  const auto counted = numbers.ge(*least).logical_and_(numbers.le(*most));
  moved = at::where(counted, moved.toTensor().clamp(*least, *most), numbers);
}

/// What has edges is told how its arguments were given, if nobody computes them. The same arguments
/// of what chooses among them, whose results nobody computes either.
std::optional<torch::jit::Stack> keep_unmoved(std::string_view name,
                                              const c10::FunctionSchema& schema,
                                              torch::jit::Stack& stack) {
  const auto& arguments = schema.arguments();
  const auto begin = stack.size() - arguments.size();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (written(arguments[i]) && stack[begin + i].isTensor()) {
      unmoved.forget(stack[begin + i].toTensor());
    }
  }
  if (schema.is_mutable()) return std::nullopt;
  const auto note_edges = [&] {
    if (inside.edges != nullptr && derived.any(std::span(stack).subspan(begin))) {
      *inside.edges = true;
    }
  };
  if (leaves_ties_open(name, schema, stack)) note_edges();
  if (name == "histc") keep_in_bins(schema, stack);
  if (is_choice(name, schema, stack)) return unmoved.arguments(schema, stack, computed);
  if (has_edges(name, schema, stack)) {
    if (const auto given = unmoved.arguments(schema, stack, computed)) {
      std::copy(given->begin(), given->end(), stack.begin() + static_cast<std::ptrdiff_t>(begin));
    } else {
      note_edges();
    }
  }
  return std::nullopt;
}

/// What is cut off where it jumps: a number that is the threshold is not moved past it.
at::Tensor left_as_given(const at::Tensor& moved, const at::Tensor& given, const at::Tensor& cut) {
  return at::where(cut.eq(given), moved, cut);
}

/// Where a number lies among given ones does not move with them.
void keep_places(torch::jit::Stack& stack, const torch::jit::Stack& as_given) {
  for (std::size_t i = 0; i < as_given.size(); ++i) {
    auto& result = stack[stack.size() - as_given.size() + i];
    if (as_given[i].isTensor() && as_given[i].toTensor().scalar_type() == at::kLong) {
      result = as_given[i];
    }
  }
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
    if (written(arguments[i]) && value.isTensor()) into.push_back(value.toTensor());
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

/// What is to be noted of a variance that the reference writes out: in the last order, in which
/// one that is an operator is made in one pass, too.
std::optional<Deviations::Known> deviation_of(std::string_view name,
                                              const c10::FunctionSchema& schema,
                                              const torch::jit::Stack& stack) {
  if (inside.loops == nullptr || inside.loops->order != orders - 1) return std::nullopt;
  return deviations.meet(name, schema, stack);
}

/// Adds up by a plain loop, in one of several orders. False where the operator remains to be
/// called.
bool add_in_loops(std::string_view name, const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  auto& loops = *inside.loops;
  if (is_recorded(std::span(*stack).last(op.schema().arguments().size()))) {
    loops.all = loops.all && adds_nothing(name, op, *stack);
    return false;
  }
  if (const auto made = deviations.sum(name, op.schema(), *stack)) {
    loops.any = true;
    give(op.schema(), stack, {*made});
    return true;
  }
  auto deviation = deviation_of(name, op.schema(), *stack);
  if (const auto made = by_loop(name, op.schema(), *stack, loops.order)) {
    loops.any = true;
    loops.left_range =
        loops.left_range || (name == "prod" && !made->front().isfinite().all().item().toBool());
    give(op.schema(), stack, {made->begin(), made->end()});
    if (deviation) deviations.note(stack->back(), std::move(*deviation));
    return true;
  }
  if (const auto made = addends.product(name, op.schema(), *stack, loops.order)) {
    loops.any = true;
    give(op.schema(), stack, {*made});
    return true;
  }
  if (const auto made = transform_by_loops(name, op.schema(), *stack, loops.order)) {
    loops.any = true;
    give(op.schema(), stack, {*made});
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
  const bool draws = target == at::kDouble && draws_by_dtype(name, schema);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    auto& value = (*stack)[begin + i];
    if (draws) {
      require_own_dtype(value, is_dtype(arguments[i]));
    } else if (is_dtype(arguments[i]) && value.isInt()) {
      if (const auto type = raised(value.toScalarType())) value = c10::IValue(*type);
    } else if (!written(arguments[i])) {
      // Constants that a reference brought along: `a.to(b)` and `a.type_as(b)` must not lower `a`.
      raise_value(value);
      if (!are_dense({&value, 1})) continue;
      if (inside.factors && multiplies_matrices(name)) change_tensors(value, as_factor);
      if (inside.terms != 0.0 && adds(name)) change_tensors(value, as_term);
      if (inside.large_wholes != 0.0 && adds(name)) change_tensors(value, as_large_whole);
    }
  }
  if (!are_dense(std::span(*stack).subspan(begin))) return call_raised(op, stack);
  if (name == "cdist" && target == at::kDouble) (*stack)[begin + 3] = by_differences;
  if (inside.marks != nullptr) note_marks(name, schema, *stack, computed, *inside.marks);
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
                     promises_first(name, schema) && !unmoved.arguments(schema, *stack, computed);
  auto chosen = inside.given != nullptr ? keep_unmoved(name, schema, *stack) : std::nullopt;
  at::Tensor ordered;
  std::int64_t dim = -1;
  const bool open =
      (inside.ties != 0.0 || inside.ranks != nullptr) && leaves_ties_open(name, schema, *stack);
  if ((open || first) && (*stack)[begin].isTensor()) {
    ordered = (*stack)[begin].toTensor();
    dim = ordered_along(schema, *stack, ordered.dim());
    if (open && inside.ties != 0.0 && dim >= 0) break_ties((*stack)[begin], chosen.has_value());
  }
  auto size = arguments.empty() ? std::nullopt : size_of_terms(name, schema, *stack);
  if (!size && inside.step != 0.0) size = size_of_complement(name, schema, *stack);
  const auto given = std::span(*stack).subspan(begin);
  const bool follows =
      inside.of_differences != 0.0 && !takes_shape_alone(name) && derived.any(given);
  const bool computes = (inside.given != nullptr || inside.marks != nullptr) &&
                        !takes_shape_alone(name) &&
                        (computed.any(given) || !makes_constants(name, schema));
  const bool whole = follows && whole_numbers.come_of(name, given, derived);
  auto terms = whole ? scaled_differences.terms_of(name, given) : std::nullopt;
  auto factors = follows ? Blends::meet(name, given) : std::nullopt;
  auto multiplied = follows || inside.factors ? DotProducts::meet(name, given) : std::nullopt;
  const auto sums = inside.factors ? dot_products.sums(name, schema, *stack) : std::nullopt;
  if (!size && follows && !whole) {
    size = blends.size_of(name, given, derived);
    if (!size) size = scaled_differences.size_of(name, given, derived);
    if (!size) size = size_of_difference(name, schema, *stack);
    if (const auto of_products = dot_products.size_of(name, schema, *stack)) {
      size = size ? at::maximum(*size, *of_products) : *of_products;
    }
    if (!size) size = size_of_difference_backward(name, schema, *stack);
    if (size) size->mul_(inside.of_differences);
  }
  auto quantised = inside.loops != nullptr ? addends.of_result(name, op, *stack) : Addends::Known();
  auto deviation = deviation_of(name, schema, *stack);
  const auto rescaled =
      inside.marks != nullptr ? inside.marks->rescaled.meet(name, schema, *stack) : std::nullopt;
  const bool remembers =
      follows || inside.factors || inside.loops != nullptr || inside.marks != nullptr;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!written(arguments[i]) || !given[i].isTensor()) continue;
    if (computes) computed.note(given[i]);
    if (!remembers) continue;
    if (inside.marks != nullptr) inside.marks->rescaled.forget(given[i].toTensor());
    addends.forget(given[i].toTensor());
    deviations.forget(given[i].toTensor());
    whole_numbers.forget(given[i].toTensor());
    scaled_differences.forget(given[i].toTensor());
    blends.forget(given[i].toTensor());
    dot_products.forget(given[i].toTensor());
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
    unmoved.note(*stack, *chosen);
    if (inside.ties == 0.0 && inside.favoured == nullptr) keep_places(*stack, *chosen);
  } else if (inside.favoured != nullptr) {
    favour_results(name, schema, *stack);
  }
  const auto returned = schema.returns().size();
  for (auto i = stack->size() - returned; i < stack->size(); ++i) {
    raise_value((*stack)[i]);
    if (follows) derived.note((*stack)[i]);
    if (computes) computed.note((*stack)[i]);
    if (whole) whole_numbers.note((*stack)[i]);
    if (terms) scaled_differences.note((*stack)[i].toTensor(), std::move(*terms));
    if (factors) blends.note(std::move(*factors), (*stack)[i].toTensor());
    if (multiplied) dot_products.note(std::move(*multiplied), (*stack)[i].toTensor());
    addends.note((*stack)[i], std::move(quantised));
    if (deviation) deviations.note((*stack)[i], std::move(*deviation));
    if (inside.marks != nullptr) inside.marks->scores.note((*stack)[i], becomes);
    if (of_integers) inside.marks->exact.note((*stack)[i]);
    if (rescaled) inside.marks->rescaled.note((*stack)[i], *rescaled);
    if (inside.logistic != nullptr) inside.logistic->note((*stack)[i]);
    if (inside.results != nullptr) note_elements((*stack)[i]);
  }
  if (ordered.defined() && ordered.dim() > 0 && dim >= 0 && returned > 0) {
    const bool exact = chosen.has_value() || !ordered.is_floating_point();
    if (inside.ranks != nullptr) note_ranks(ordered, stack->back(), dim, exact, first);
    if (open && inside.ties != 0.0 && returned == 2) put_in_order(ordered, dim, *stack);
  }
  if (inside.largest_product != nullptr && multiplies_matrices(name)) note_product(stack->back());
  if (inside.bits_of_products > 0 &&
      (multiplies_matrices(name) || is_one_of(name, {"add", "sub", "rsub"}))) {
    change_tensors(stack->back(), [](const at::Tensor& product) {
      return of_few_bits(product, inside.bits_of_products);
    });
  }
  if (sums) move_sums(stack->back().toTensor(), *sums);
  if (size && returned > 0) {
    const auto& first_result = (*stack)[stack->size() - returned];
    if (first_result.isTensor()) move_result(first_result.toTensor(), *size);
  }
  if (inexact && returned == 1 && stack->back().isTensor()) {
    move_inexact(stack->back().toTensor(), power);
  }
  if (shift && stack->back().isTensor()) move_logarithm(name, stack->back().toTensor(), *shift);
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
  target = to;
  inside = within;
  moves_made = 0;
  Tensors raised_inputs;
  raised_inputs.reserve(inputs.size());
  for (const auto& input : inputs) {
    auto raised = raise_tensor(input);
    if (within.favoured != nullptr) raised = favoured_input(raised);
    raised_inputs.push_back(std::move(raised));
  }
  if (within.given != nullptr) unmoved = Unmoved(raised_inputs, *within.given);
  if (within.of_differences != 0.0) blends = Blends(raised_inputs);
  for (const auto& input : raised_inputs) {
    derived.note(input);
    computed.note(input);
    if (within.of_differences != 0.0 && is_mask(input)) whole_numbers.note(input);
  }
  const auto forget_all = c10::make_scope_exit([] {
    unmoved = Unmoved();
    derived = TensorSet();
    computed = TensorSet();
    whole_numbers = WholeNumbers();
    scaled_differences = ScaledDifferences();
    blends = Blends();
    dot_products = DotProducts();
    addends = Addends();
    deviations = Deviations();
  });
  // Autocasting would lower what was raised.
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const c10::impl::IncludeDispatchKeyGuard promoting(promotion);
  return reference(raised_inputs);
}

}  // namespace ouroboros::judge
