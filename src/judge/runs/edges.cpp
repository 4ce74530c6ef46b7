#include "judge/runs/edges.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <span>
#include <tuple>

#include "judge/observed/unmoved.hpp"
#include "judge/orders/arguments.hpp"
#include "judge/runs/ties.hpp"

namespace ouroboros::judge {
namespace {

/// Numbers move from bin to bin, but not out of all of them or into one: both ends are told by
/// comparing, where arithmetic tells the bins.
void keep_in_bins(Pass& pass, const c10::FunctionSchema& schema, torch::jit::Stack& stack) {
  const auto given = pass.unmoved.arguments(schema, stack, pass.computed);
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

/// What is cut off where it jumps: a number that is the threshold is not moved past it.
at::Tensor left_as_given(const at::Tensor& moved, const at::Tensor& given, const at::Tensor& cut) {
  return at::where(cut.eq(given), moved, cut);
}

/// Where a number lies among given ones does not move with them.
void keep_places(std::span<c10::IValue> results, const torch::jit::Stack& as_given) {
  for (std::size_t i = 0; i < as_given.size(); ++i) {
    if (as_given[i].isTensor() &&
        at::isIntegralType(as_given[i].toTensor().scalar_type(), /*includeBool=*/false)) {
      results[i] = as_given[i];
    }
  }
}

}  // namespace

std::optional<torch::jit::Stack> keep_unmoved(Pass& pass, const Operation& operation) {
  const auto& [name, schema] = std::tie(operation.name, operation.schema);
  auto& stack = operation.stack;
  const auto& arguments = schema.arguments();
  const auto begin = stack.size() - arguments.size();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (is_written(arguments[i]) && stack[begin + i].isTensor()) {
      pass.unmoved.forget(stack[begin + i].toTensor());
    }
  }
  if (schema.is_mutable()) return std::nullopt;
  const auto note_edges = [&] {
    if (pass.inside.edges != nullptr && pass.derived.any(std::span(stack).subspan(begin))) {
      *pass.inside.edges = true;
    }
  };
  if (leaves_ties_open(name, schema, stack)) note_edges();
  if (name == "histc") keep_in_bins(pass, schema, stack);
  if (is_choice(name, schema, stack)) return pass.unmoved.arguments(schema, stack, pass.computed);
  if (has_edges(name, schema, stack)) {
    if (const auto given = pass.unmoved.arguments(schema, stack, pass.computed)) {
      std::copy(given->begin(), given->end(), stack.begin() + static_cast<std::ptrdiff_t>(begin));
    } else {
      note_edges();
    }
  }
  return std::nullopt;
}

void call_beside(Pass& pass, const Operation& operation, std::optional<torch::jit::Stack> given) {
  auto& stack = operation.stack;
  const auto& inside = pass.inside;
  if (!given) {
    operation.op.callBoxed(stack);
    if (inside.favoured != nullptr) favour_results(inside, operation);
    return;
  }
  const bool cuts = is_one_of(operation.name, {"hardshrink", "threshold"});
  const auto moved = cuts ? operation.arguments()[0].toTensor() : at::Tensor();
  const auto stays = cuts ? given->front().toTensor() : at::Tensor();
  operation.op.callBoxed(stack);
  operation.op.callBoxed(*given);
  if (cuts) stack.back() = left_as_given(moved, stays, given->back().toTensor());
  pass.unmoved.note(stack, *given);
  if (inside.ties == 0.0 && inside.favoured == nullptr) keep_places(operation.results(), *given);
}

}  // namespace ouroboros::judge
