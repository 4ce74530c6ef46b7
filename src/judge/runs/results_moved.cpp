#include "judge/runs/results_moved.hpp"

#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/frexp.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "judge/base/moved.hpp"
#include "judge/base/random.hpp"
#include "judge/base/tensors.hpp"
#include "judge/orders/arguments.hpp"
#include "judge/orders/products.hpp"
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

/// Of losses of logarithms that lie near zero where all is well: one for each, times its weights.
at::Tensor size_of_entropy(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  const auto given = [&](const char* which) {
    const auto* found = judge::argument(which, schema, stack);
    return found != nullptr && found->isTensor() ? found->toTensor() : at::Tensor();
  };
  const auto x = given("self");
  auto size = at::ones_like(x);
  if (const auto positive = given("pos_weight"); positive.defined()) {
    size = size + (positive - 1.0) * given("target");
  }
  if (const auto weight = given("weight"); weight.defined()) size = size * weight;
  const auto* reduction = judge::argument("reduction", schema, stack);
  const auto how = reduction != nullptr && reduction->isInt() ? reduction->toInt() : 0;
  if (how == at::Reduction::None) return size;
  // Terms err each for itself.
  const auto sum = size.square().sum().sqrt();
  return how == at::Reduction::Sum ? sum : sum / static_cast<double>(x.numel());
}

/// Of the result of an operator, how large the numbers are that it is the difference of; empty for
/// one that is no such difference.
std::optional<at::Tensor> size_of_terms(const Inside& inside, const Operation& operation) {
  const auto& [name, schema, stack] =
      std::tie(operation.name, operation.schema, std::as_const(operation.stack));
  const auto given = operation.arguments();
  if (inside.step == 0.0 || given.empty() || !given[0].isTensor()) return std::nullopt;
  const auto& x = given[0].toTensor();
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
  if (auto size = size_of_eight_bits(inside, name, given)) return size;
  if (is_one_of(name, {"tanh", "expm1", "log1p", "elu", "celu", "selu", "softplus", "log_sigmoid",
                       "erf", "erfc", "sinh", "asinh", "atanh", "logit", "logaddexp", "logaddexp2",
                       "logcumsumexp", "ndtr", "log_ndtr"})) {
    return at::ones_like(x);
  }
  if (is_one_of(name,
                {"binary_cross_entropy", "binary_cross_entropy_with_logits", "soft_margin_loss"})) {
    return size_of_entropy(schema, stack);
  }
  return std::nullopt;
}

/// Moves by `size`, of which one number may stand for many of the result's, that then move alike.
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

bool is_logarithm(std::string_view name) { return is_one_of(name, {"log", "log2", "log10"}); }

/// Whether others may compute the operator's result otherwise, by more than moves of the inputs
/// show: exponentials near one, as of a decay, logarithms of what exponentials made, and what is
/// made of `constants` alone, which do not move: a table of frequencies, a window.
bool is_inexact(std::string_view name, bool constants) {
  if (is_one_of(name, {"exp", "exp2", "sigmoid", "expit"}) || is_logarithm(name)) return true;
  return constants &&
         (is_one_of(name, {"expm1", "log1p", "pow", "sqrt", "rsqrt", "reciprocal", "div", "mul",
                           "sin", "cos", "tan", "tanh", "linspace", "logspace"}) ||
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
void move_inexact(Pass& pass, const at::Tensor& result, bool power, bool upwards) {
  if (result.scalar_type() != at::kDouble || result.numel() == 0) return;
  const auto few_bits = power ? std::get<0>(at::frexp(result)).abs().eq(0.5)
                              : result.eq(result.to(at::kHalf).to(at::kDouble));
  auto size = result.abs().mul_(few_roundings);
  if (power) size.mul_(result.abs().log_().abs_().add_(1.0));
  const auto kept = few_bits.logical_or(at::isfinite(size).logical_not_());
  size.masked_fill_(kept, 0.0);
  if (!upwards) return move_result(pass, result, size);
  const at::NoGradGuard no_grad;
  result.variable_data().add_(size, pass.inside.step);
}

/// Of probabilities, or of their logarithms.
void move_logarithm(Pass& pass, std::string_view name, const at::Tensor& result,
                    const at::Tensor& size) {
  if (name.starts_with("log")) return move_result(pass, result, size);
  const at::NoGradGuard no_grad;
  auto factors = at::ones_like(size);
  move_result(pass, factors, size);
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

/// What is taken from each row others make of a result that was rounded likewise.
void move_sums(Pass& pass, const at::Tensor& result, const DotProducts::Sums& sums) {
  const at::NoGradGuard no_grad;
  const auto half = 0.5 * format_of(*dtype_of(*pass.inside.factors)).epsilon;
  const auto key = random::key(pass.inside.seed, pass.moves_made++);
  const auto ones = at::ones_like(sums.size);
  const auto moves = moved({ones}, half, Moves::by_place, key).front().sub_(1.0);
  result.variable_data().add_(moves.mul_(sums.size).mul(sums.share));
}

/// The nearest number of so many bits, by Veltkamp's splitting (Dekker, "A floating-point technique
/// for extending the available precision", 1971).
at::Tensor of_few_bits(const at::Tensor& tensor, int bits) {
  if (tensor.scalar_type() != at::kDouble) return tensor;
  const auto split = tensor * (std::ldexp(1.0, std::numeric_limits<double>::digits - bits) + 1.0);
  const auto rounded = split - (split - tensor);
  return at::where(at::isfinite(split), rounded, tensor);
}

}  // namespace

ResultsMoved::ResultsMoved(Pass& pass, const Operation& operation, bool follows, bool whole)
    : pass_(pass), operation_(operation) {
  const auto& inside = pass.inside;
  const auto name = operation.name;
  const auto given = operation.arguments();
  if (inside.factors) sums_ = pass.dot_products.sums(name, operation.schema, operation.stack);
  if (inside.step == 0.0) return;
  size_ = size_of_result(follows, whole);
  shift_ = size_of_shift(name, operation.schema, operation.stack);
  if (inside.of_differences == 0.0) return;
  power_ = is_broken_power(name, given) || (!follows && is_one_of(name, {"exp", "exp2", "pow"}));
  const bool probabilities = inside.probabilities && is_one_of(name, {"softmax", "log_softmax"});
  inexact_ = probabilities || power_ || is_inexact(name, !follows);
}

std::optional<at::Tensor> ResultsMoved::size_of_result(bool follows, bool whole) const {
  const auto& inside = pass_.inside;
  const auto& [name, schema, stack] =
      std::tie(operation_.name, operation_.schema, operation_.stack);
  const auto given = operation_.arguments();
  if (auto size = size_of_terms(inside, operation_)) return size;
  if (auto size = size_of_complement(name, schema, stack)) return size;
  if (inside.of_differences == 0.0 || !follows || whole) return std::nullopt;
  auto size = pass_.blends.size_of(name, given, pass_.derived);
  if (!size) size = pass_.scaled_differences.size_of(name, given, pass_.derived);
  if (!size) size = size_of_difference(name, schema, stack);
  if (const auto of_products = pass_.dot_products.size_of(name, schema, stack)) {
    size = size ? at::maximum(*size, *of_products) : *of_products;
  }
  if (!size) size = size_of_difference_backward(name, schema, stack);
  if (size) size->mul_(inside.of_differences);
  return size;
}

void ResultsMoved::apply() const {
  const auto& inside = pass_.inside;
  const auto name = operation_.name;
  const auto results = operation_.results();
  if (results.empty()) return;
  if (inside.bits_of_products > 0 &&
      (multiplies_matrices(name) || is_one_of(name, {"add", "sub", "rsub"}))) {
    change_tensors(results.back(), [&](const at::Tensor& product) {
      return of_few_bits(product, inside.bits_of_products);
    });
  }
  if (!results.front().isTensor()) return;
  const auto& result = results.front().toTensor();
  if (sums_) move_sums(pass_, result, *sums_);
  if (size_) move_result(pass_, result, *size_);
  if (inside.step == 0.0 || results.size() > 1) return;
  if (inexact_) {
    move_inexact(pass_, result, power_, inside.logarithms_up && is_logarithm(name));
  }
  if (shift_) move_logarithm(pass_, name, result, *shift_);
  keep_in_range(name, result);
}

}  // namespace ouroboros::judge
