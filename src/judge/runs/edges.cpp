#include "judge/runs/edges.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>

#include <algorithm>

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

}  // namespace

std::optional<torch::jit::Stack> keep_unmoved(Pass& pass, std::string_view name,
                                              const c10::FunctionSchema& schema,
                                              torch::jit::Stack& stack) {
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

at::Tensor left_as_given(const at::Tensor& moved, const at::Tensor& given, const at::Tensor& cut) {
  return at::where(cut.eq(given), moved, cut);
}

void keep_places(torch::jit::Stack& stack, const torch::jit::Stack& as_given) {
  for (std::size_t i = 0; i < as_given.size(); ++i) {
    auto& result = stack[stack.size() - as_given.size() + i];
    if (as_given[i].isTensor() &&
        at::isIntegralType(as_given[i].toTensor().scalar_type(), /*includeBool=*/false)) {
      result = as_given[i];
    }
  }
}

}  // namespace ouroboros::judge
