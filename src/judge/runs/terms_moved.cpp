#include "judge/runs/terms_moved.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/base/moved.hpp"
#include "judge/base/random.hpp"
#include "judge/base/tensors.hpp"

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

}  // namespace

at::Tensor of_few_bits(const at::Tensor& tensor, int bits) {
  if (tensor.scalar_type() != at::kDouble) return tensor;
  const auto split = tensor * (std::ldexp(1.0, std::numeric_limits<double>::digits - bits) + 1.0);
  const auto rounded = split - (split - tensor);
  return at::where(at::isfinite(split), rounded, tensor);
}

at::Tensor as_factor(Pass& pass, const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_floating_point()) return tensor;
  return in_place_of(tensor, lowered_factor(pass, tensor));
}

void move_sums(Pass& pass, const at::Tensor& result, const DotProducts::Sums& sums) {
  const at::NoGradGuard no_grad;
  const auto half = 0.5 * format_of(*dtype_of(*pass.inside.factors)).epsilon;
  const auto key = random::key(pass.inside.seed, pass.moves_made++);
  const auto ones = at::ones_like(sums.size);
  const auto moves = moved({ones}, half, Moves::by_place, key).front().sub_(1.0);
  result.variable_data().add_(moves.mul_(sums.size).mul(sums.share));
}

bool adds(std::string_view name) {
  const auto parts = {"sum",       "mean",   "prod",     "norm",   "var",   "std",    "mm",
                      "mv",        "matmul", "dot",      "conv",   "dist",  "loss",   "_add",
                      "avg_",      "cov",    "fft",      "linear", "inner", "einsum", "tensordot",
                      "attention", "cosine", "upsample", "reduce", "bag",   "trapez"};
  return std::any_of(parts.begin(), parts.end(),
                     [name](std::string_view part) { return name.find(part) != name.npos; });
}

at::Tensor as_term(Pass& pass, const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.scalar_type() != at::kDouble) return tensor;
  const auto key = random::key(pass.inside.seed, pass.moves_made++);
  const auto other =
      moved({tensor.detach().contiguous()}, pass.inside.terms, Moves::by_place, key).front();
  return in_place_of(tensor, at::where(tensor.eq(tensor.round()), tensor.detach(), other));
}

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

}  // namespace ouroboros::judge
