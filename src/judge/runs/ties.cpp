#include "judge/runs/ties.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_unique.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <tuple>

#include "judge/base/ranks.hpp"
#include "judge/orders/arguments.hpp"
#include "judge/runs/inside.hpp"

namespace ouroboros::judge {
namespace {

/// What is below the numbers of float32 is zero to whoever computes in it. Integers become their
/// ranks: no real type has them all.
at::Tensor as_compared(const Inside& inside, const at::Tensor& numbers) {
  if (!numbers.is_floating_point()) {
    return std::get<1>(at::_unique(numbers, /*sorted=*/true, /*return_inverse=*/true))
        .to(at::kDouble);
  }
  return inside.single ? numbers.to(at::kFloat).to(at::kDouble) : numbers;
}

/// Less than what the numbers of a case tells apart, and enough for many.
double next_to_nothing(const Inside& inside) { return inside.single ? 0x1p-30 : 0x1p-50; }

bool may_be_favoured(const Inside& inside, const at::Tensor& value) {
  return value.defined() && value.scalar_type() == at::kDouble &&
         value.sizes().equals(inside.favoured->sizes());
}

/// `value` with what is favoured, and not `exact`, by `by` of its size.
at::Tensor in_favour(const Inside& inside, const at::Tensor& value, const at::Tensor& exact,
                     double by) {
  // What is below the least that is ranked changes places with zero.
  const double least = std::copysign(2.0 * least_ranked(inside.single), by);
  const auto apart = value + value.abs().mul_(by).add_(least);
  return at::where(inside.favoured->logical_and(exact.logical_not()), apart, value);
}

/// Whether the operator says where one number lies, and which of equal ones that is.
bool promises_first(std::string_view name, const c10::FunctionSchema& schema) {
  return is_one_of(name, {"argmax", "argmin"}) ||
         (is_one_of(name, {"max", "min"}) && schema.returns().size() == 2);
}

/// The dimension that an operator orders along; -1 where it has none.
std::int64_t ordered_along(const c10::FunctionSchema& schema, const torch::jit::Stack& stack,
                           std::int64_t dims) {
  const auto* dim = argument("dim", schema, stack);
  if (dim == nullptr || !dim->isInt()) return -1;
  return dim->toInt() < 0 ? dim->toInt() + dims : dim->toInt();
}

/// Along any dimension, by their place.
void break_ties_of(const Inside& inside, c10::IValue& value, bool given) {
  const auto type = value.isTensor() ? value.toTensor().scalar_type() : at::kFloat;
  const bool whole = at::isIntegralType(type, /*includeBool=*/true);
  if (!whole && type != at::kDouble) return;
  const auto numbers = as_compared(inside, value.toTensor());
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
  const double by = given ? way * next_to_nothing(inside) : inside.ties;
  const double least = 2.0 * way * least_ranked(inside.single);
  const auto apart = numbers + numbers.abs().mul_(by).add_(least).mul_(places);
  value = at::where(at::isfinite(numbers), apart, numbers);
}

/// Ties were broken for the order's sake alone: numbers that were put in order are what they were.
void put_in_order(const at::Tensor& numbers, std::int64_t dim, torch::jit::Stack& stack) {
  auto& values = stack[stack.size() - 2];
  if (!values.isTensor() || !stack.back().isTensor()) return;
  const auto& places = stack.back().toTensor();
  values = places.dim() < numbers.dim() ? numbers.gather(dim, places.unsqueeze(dim)).squeeze(dim)
                                        : numbers.gather(dim, places);
}

void note_ranks(const Inside& inside, const at::Tensor& numbers, const c10::IValue& result,
                std::int64_t dim, bool given, bool first) {
  if (!result.isTensor() || result.toTensor().scalar_type() != at::kLong) return;
  auto places = result.toTensor();
  if (places.dim() < numbers.dim()) places = places.unsqueeze(dim);
  // The reference may write to them afterwards.
  const auto exact = numbers.clone();
  inside.ranks->push_back({as_compared(inside, exact), places, dim, given, first});
  inside.ranks->back().exact = exact;
}

}  // namespace

bool leaves_ties_open(std::string_view name, const c10::FunctionSchema& schema,
                      const torch::jit::Stack& stack) {
  if (!is_one_of(name, {"topk", "sort", "argsort", "kthvalue", "median", "nanmedian"})) {
    return false;
  }
  const auto* stable = argument("stable", schema, stack);
  return stable == nullptr || !stable->isBool() || !stable->toBool();
}

Ordering::Ordering(const Pass& pass, const Operation& operation)
    : inside_(pass.inside), operation_(operation) {
  const auto& [name, schema] = std::tie(operation.name, operation.schema);
  open_ = (inside_.ties != 0.0 || inside_.ranks != nullptr) &&
          leaves_ties_open(name, schema, operation.stack);
  first_ = inside_.ranks != nullptr && inside_.given != nullptr && promises_first(name, schema) &&
           !pass.unmoved.arguments(schema, operation.stack, pass.computed);
}

void Ordering::break_ties(bool chosen) {
  const auto given = operation_.arguments();
  if ((!open_ && !first_) || !given[0].isTensor()) return;
  const auto& numbers = given[0].toTensor();
  dim_ = ordered_along(operation_.schema, operation_.stack, numbers.dim());
  if (dim_ < 0 || numbers.dim() == 0) return;
  numbers_ = numbers;
  exact_ = chosen || !numbers.is_floating_point();
  if (open_ && inside_.ties != 0.0) break_ties_of(inside_, given[0], chosen);
}

void Ordering::note() const {
  if (!numbers_.defined() || operation_.results().empty()) return;
  auto& stack = operation_.stack;
  if (inside_.ranks != nullptr) note_ranks(inside_, numbers_, stack.back(), dim_, exact_, first_);
  if (open_ && inside_.ties != 0.0 && operation_.results().size() == 2) {
    put_in_order(numbers_, dim_, stack);
  }
}

at::Tensor favoured_input(const Inside& inside, const at::Tensor& input) {
  if (!may_be_favoured(inside, input)) return input;
  if (input.mul(input).eq(input).all().item().toBool()) return input;
  const double by = std::copysign(8.0 * next_to_nothing(inside), inside.favour);
  return in_favour(inside, input, at::isfinite(input).logical_not(), by);
}

void favour_results(const Inside& inside, const Operation& operation) {
  const bool of_exponentials =
      is_one_of(operation.name, {"softmax", "exp", "exp2", "sigmoid", "expit"});
  const auto& returns = operation.schema.returns();
  const auto results = operation.results();
  for (std::size_t i = 0; i < returns.size(); ++i) {
    auto& result = results[i];
    if (returns[i].alias_info() != nullptr || !result.isTensor()) continue;
    const auto made = result.toTensor();
    if (!may_be_favoured(inside, made)) continue;
    const auto exact = of_exponentials ? made.isinf() : made.eq(made.round());
    result = in_favour(inside, made, exact, inside.favour);
  }
}

}  // namespace ouroboros::judge
