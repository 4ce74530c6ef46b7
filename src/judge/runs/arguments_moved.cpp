#include "judge/runs/arguments_moved.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/where.h>

#include <algorithm>

#include "judge/base/moved.hpp"
#include "judge/base/random.hpp"
#include "judge/base/tensors.hpp"
#include "judge/orders/arguments.hpp"
#include "judge/orders/products.hpp"

namespace ouroboros::judge {
namespace {

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
at::Tensor lowered_factor(Pass& pass, const at::Tensor& tensor) {
  const at::NoGradGuard no_grad;
  const auto rounded = [&](const at::Tensor& wide) {
    return wide.to(*pass.inside.factors).to(wide.scalar_type());
  };
  const auto nearest = rounded(tensor);
  if (pass.inside.seed == 0) return nearest;
  const auto half = 0.5 * format_of(*dtype_of(*pass.inside.factors)).epsilon;
  const auto key = random::key(pass.inside.seed, pass.moves_made++);
  const auto other = rounded(moved({tensor.contiguous()}, half, Moves::by_place, key).front());
  return at::where(nearest.eq(tensor), nearest, other.to(tensor.scalar_type()));
}

at::Tensor as_factor(Pass& pass, const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_floating_point()) return tensor;
  return in_place_of(tensor, lowered_factor(pass, tensor));
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
at::Tensor as_term(Pass& pass, const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.scalar_type() != at::kDouble) return tensor;
  const auto key = random::key(pass.inside.seed, pass.moves_made++);
  const auto other =
      moved({tensor.detach().contiguous()}, pass.inside.terms, Moves::by_place, key).front();
  return in_place_of(tensor, at::where(tensor.eq(tensor.round()), tensor.detach(), other));
}

/// Whole numbers too large for float32 to add up exactly, moved as real inputs are.
at::Tensor as_large_whole(Pass& pass, const at::Tensor& tensor) {
  constexpr double added_exactly = 0x1p12;  // Some thousands of them.
  if (!tensor.defined() || tensor.scalar_type() != at::kDouble) return tensor;
  const auto large = tensor.eq(tensor.round()).logical_and_(tensor.abs().gt(added_exactly));
  if (!large.any().item().toBool()) return tensor;
  const auto key = random::key(pass.inside.seed, pass.moves_made++);
  const auto other =
      moved({tensor.detach().contiguous()}, pass.inside.large_wholes, Moves::by_place, key).front();
  return in_place_of(tensor, at::where(large, other, tensor.detach()));
}

}  // namespace

void move_arguments(Pass& pass, const Operation& operation) {
  const auto& inside = pass.inside;
  const auto& arguments = operation.schema.arguments();
  const auto given = operation.arguments();
  const bool multiplied = inside.factors && multiplies_matrices(operation.name);
  const bool added = (inside.terms != 0.0 || inside.large_wholes != 0.0) && adds(operation.name);
  if (!multiplied && !added) return;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (is_written(arguments[i]) || !are_dense(given.subspan(i, 1))) continue;
    change_tensors(given[i], [&](at::Tensor tensor) {
      if (multiplied) tensor = as_factor(pass, tensor);
      if (added && inside.terms != 0.0) tensor = as_term(pass, tensor);
      if (added && inside.large_wholes != 0.0) tensor = as_large_whole(pass, tensor);
      return tensor;
    });
  }
}

void keep_targets_in_range(const Operation& operation) {
  if (operation.name != "binary_cross_entropy") return;
  constexpr double room = 1e-6;  // More than anything moves; what is beyond raises.
  for (auto& value : operation.arguments().first(2)) {
    const auto& x = value.toTensor();
    const auto near = x.gt(-room).logical_and_(x.lt(1.0 + room));
    value = at::where(near, x.clamp(0.0, 1.0), x);
  }
}

}  // namespace ouroboros::judge
