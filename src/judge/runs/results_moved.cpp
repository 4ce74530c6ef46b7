#include "judge/runs/results_moved.hpp"

#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/frexp.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>

#include "judge/base/moved.hpp"
#include "judge/base/random.hpp"
#include "judge/orders/arguments.hpp"
#include "judge/runs/backward.hpp"
#include "judge/runs/complements.hpp"
#include "judge/runs/inside.hpp"
#include "judge/runs/logistic.hpp"

namespace ouroboros::judge {
namespace {

/// What tensor cores lose of a product of matrices in eight bits: of each 32 terms, and of the sum
/// before, they keep some 14 bits of the largest (DeepSeek-V3 Technical Report, section 3.3.2), and
/// cut the rest off. Where one of them is nearly all, the others may lose 2^-13 of it each, and all
/// one way: 2^-8 together, which grows as the root of how many such parts there are.
std::optional<at::Tensor> size_of_eight_bits(const Inside& inside, std::string_view name,
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

}  // namespace

std::optional<at::Tensor> size_of_terms(const Inside& inside, std::string_view name,
                                        const c10::FunctionSchema& schema,
                                        const torch::jit::Stack& stack) {
  const auto& argument = stack[stack.size() - schema.arguments().size()];
  if (inside.step == 0.0 || !argument.isTensor()) return std::nullopt;
  const auto& x = argument.toTensor();
  if (is_one_of(name, {"gelu", "mish"})) return x.abs();
  if (name == "corrcoef" && x.dim() > 0) {
    // PyTorch divides by the roots of its diagonal, which is one then: who divides rows first has
    // what a plain loop loses of a sum of squares, at every step the same way where these are
    // equal.
    return at::scalar_tensor(static_cast<double>(x.size(-1)) / 16.0, x.options());
  }
  if (name == "cosh") return at::full_like(x, few_roundings);  // One, and what float64 loses of it.
  if (auto size = size_of_activation_backward(name, schema, stack)) return size;
  if (inside.tanh_form != 0.0) {
    if (auto size = size_of_tanh_form(name, schema, stack, inside.tanh_form)) return size;
  }
  const auto given = std::span(stack).last(schema.arguments().size());
  if (auto size = size_of_eight_bits(inside, name, given)) return size;
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

void move_result(Pass& pass, const at::Tensor& result, const at::Tensor& size) {
  if (result.scalar_type() != at::kDouble || !at::is_expandable_to(size.sizes(), result.sizes())) {
    return;
  }
  const at::NoGradGuard no_grad;
  const auto key = random::key(pass.inside.seed, pass.moves_made++);
  const auto moves =
      moved({at::ones_like(size)}, pass.inside.step, Moves::by_place, key).front().sub_(1.0);
  result.variable_data().add_(moves.mul_(size));
}

bool is_inexact(std::string_view name, bool constants) {
  if (is_one_of(name, {"exp", "exp2", "sigmoid", "expit"})) return true;
  return constants && (is_one_of(name, {"expm1", "log", "log2", "log10", "log1p", "pow", "sqrt",
                                        "rsqrt", "reciprocal", "div", "mul", "sin", "cos", "tan",
                                        "tanh", "linspace", "logspace"}) ||
                       name.ends_with("_window"));
}

bool is_broken_power(std::string_view name, std::span<const c10::IValue> given) {
  if (name != "pow" || !given[1].isDouble()) return false;
  const double exponent = given[1].toDouble();
  return exponent != std::round(exponent) && std::fabs(exponent) != 0.5;
}

void move_inexact(Pass& pass, const at::Tensor& result, bool power) {
  if (result.scalar_type() != at::kDouble || result.numel() == 0) return;
  const auto few_bits = power ? std::get<0>(at::frexp(result)).abs().eq(0.5)
                              : result.eq(result.to(at::kHalf).to(at::kDouble));
  auto size = result.abs().mul_(few_roundings);
  if (power) size.mul_(result.abs().log_().abs_().add_(1.0));
  const auto kept = few_bits.logical_or(at::isfinite(size).logical_not_());
  move_result(pass, result, size.masked_fill_(kept, 0.0));
}

void move_logarithm(Pass& pass, std::string_view name, const at::Tensor& result,
                    const at::Tensor& size) {
  if (name.starts_with("log")) return move_result(pass, result, size);
  const at::NoGradGuard no_grad;
  auto factors = at::ones_like(size);
  move_result(pass, factors, size);
  if (result.scalar_type() == at::kDouble) result.variable_data().mul_(factors);
}

void keep_in_range(std::string_view name, const at::Tensor& result) {
  const at::NoGradGuard no_grad;
  if (is_one_of(name, {"sigmoid", "expit", "softmax", "_safe_softmax"})) {
    result.variable_data().clamp_(0.0, 1.0);
  } else if (is_one_of(name, {"tanh", "erf"})) {
    result.variable_data().clamp_(-1.0, 1.0);
  }
}

void keep_targets_in_range(std::string_view name, c10::IValue* arguments) {
  if (name != "binary_cross_entropy") return;
  constexpr double room = 1e-6;  // More than anything moves; what is beyond raises.
  for (const auto* end = arguments + 2; arguments != end; ++arguments) {
    const auto& x = arguments->toTensor();
    const auto near = x.gt(-room).logical_and_(x.lt(1.0 + room));
    *arguments = at::where(near, x.clamp(0.0, 1.0), x);
  }
}

}  // namespace ouroboros::judge
