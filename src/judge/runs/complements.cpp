#include "judge/runs/complements.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/var.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "judge/orders/arguments.hpp"

namespace ouroboros::judge {
namespace {

/// 2^-25 over 32 2^-24: see Tolerance.
constexpr double lost = 0x1p-6;

/// Two roundings: of what is multiplied where an average of m and g is written as g + b (m - g),
/// which is done where 1 - b is not too small.
constexpr double two_roundings = 0x1p-4;
constexpr double least_of_average = 0x1p-7;

/// Larger constants lose less than the inputs' roundings do; smaller ones are rarely what is left
/// of 1, and would lose every digit.
constexpr double largest_constant = 0x1p-4;
constexpr double smallest = 0x1p-10;

/// Of scores: what masks them is larger, and nobody's maximum.
constexpr double largest_score = 0x1p16;

/// How large numbers are that are less their mean over some dimensions, in units of their spread.
at::Tensor size_of_standardised(const at::Tensor& x, at::IntArrayRef dims, double eps) {
  const auto spread = x.var(dims, /*unbiased=*/false, /*keepdim=*/true).add_(eps);
  return x.abs().amax(dims, true) * spread.rsqrt();
}

/// The same of what `layer_norm`, `group_norm`, `instance_norm` and `batch_norm` are given, before
/// weights. Empty where statistics are others' than the input's.
std::optional<at::Tensor> size_of_normalised(std::string_view name, const at::Tensor& x, double eps,
                                             const c10::FunctionSchema& schema,
                                             const torch::jit::Stack& stack) {
  const auto dims_from = [&](std::int64_t first) {
    std::vector<std::int64_t> dims(static_cast<std::size_t>(x.dim() - first));
    std::iota(dims.begin(), dims.end(), first);
    return dims;
  };
  if (name == "layer_norm") {
    const auto* shape = argument("normalized_shape", schema, stack);
    if (!shape->isIntList()) return std::nullopt;
    const auto extents = static_cast<std::int64_t>(shape->toIntVector().size());
    return size_of_standardised(x, dims_from(x.dim() - extents), eps);
  }
  if (x.dim() < 2) return std::nullopt;  // Which they refuse.
  if (name == "group_norm") {
    const auto groups = argument("num_groups", schema, stack)->toInt();
    const auto grouped = x.reshape({x.size(0), groups, -1});
    return size_of_standardised(grouped, {-1}, eps).expand_as(grouped).reshape_as(x);
  }
  const bool each = name == "instance_norm";
  if (!argument(each ? "use_input_stats" : "training", schema, stack)->toBool()) {
    return std::nullopt;
  }
  auto dims = dims_from(2);
  if (!each) dims.insert(dims.begin(), 0);
  if (dims.empty()) return std::nullopt;
  return size_of_standardised(x, dims, eps);
}

/// Of normalisations by statistics of what they are given: how large their numbers are, in the
/// result's units.
std::optional<at::Tensor> size_of_centred(std::string_view name, const c10::FunctionSchema& schema,
                                          const torch::jit::Stack& stack) {
  const auto* input = argument("input", schema, stack);
  if (!input->isTensor() || input->toTensor().numel() == 0) return std::nullopt;
  const auto x = input->toTensor().to(at::kDouble);
  const auto eps = argument("eps", schema, stack)->toDouble();
  auto size = size_of_normalised(name, x, eps, schema, stack);
  if (!size) return std::nullopt;
  const auto* weight = argument("weight", schema, stack);
  if (weight->isTensor() && weight->toTensor().defined()) {
    auto scale = weight->toTensor().abs();
    if (name != "layer_norm") {  // One for each channel.
      std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
      shape[1] = -1;
      scale = scale.reshape(shape);
    }
    size = *size * scale;
  }
  return size->nan_to_num(0.0, 0.0, 0.0);
}

}  // namespace

std::optional<at::Tensor> size_of_complement(std::string_view name,
                                             const c10::FunctionSchema& schema,
                                             const torch::jit::Stack& stack) {
  const auto tensor = [&](std::string_view wanted) -> at::Tensor {
    const auto* value = argument(wanted, schema, stack);
    return value != nullptr && value->isTensor() ? value->toTensor() : at::Tensor();
  };
  // What is lost of what an argument multiplies; zero where it is no such constant.
  const auto lost_by = [&](std::string_view wanted) {
    const auto* value = argument(wanted, schema, stack);
    const double size = value != nullptr ? std::fabs(constant(*value).value_or(0.0)) : 0.0;
    if (size < smallest || size >= largest_constant) return 0.0;
    return size < least_of_average ? lost : two_roundings;
  };
  const auto size_of = [](const at::Tensor& multiplied, double share) -> std::optional<at::Tensor> {
    if (share == 0.0 || !multiplied.defined() || multiplied.is_complex()) return std::nullopt;
    return multiplied.to(at::kDouble).abs().mul_(share);
  };
  if (name == "mul") {
    const double share = lost_by("other");
    return share != 0.0 ? size_of(tensor("self"), share)
                        : size_of(tensor("other"), lost_by("self"));
  }
  if (name == "add") return size_of(tensor("other"), lost_by("alpha"));
  if (name == "addcmul") return size_of(tensor("tensor1") * tensor("tensor2"), lost_by("value"));
  return std::nullopt;
}

double lost_in_differences(DType dtype) noexcept {
  return dtype == DType::float64 ? 0x1p-4 : few_roundings;
}

std::optional<at::Tensor> size_of_difference(std::string_view name,
                                             const c10::FunctionSchema& schema,
                                             const torch::jit::Stack& stack) {
  if (is_one_of(name, {"layer_norm", "group_norm", "instance_norm", "batch_norm"})) {
    return size_of_centred(name, schema, stack);
  }
  if (!is_one_of(name, {"add", "sub", "rsub"})) return std::nullopt;
  std::optional<at::Tensor> size;
  for (const auto* one : {argument("self", schema, stack), argument("other", schema, stack)}) {
    if (one == nullptr) continue;
    at::Tensor term;
    if (one->isTensor()) {
      term = one->toTensor();
    } else if (const auto number = constant(*one)) {
      term = at::scalar_tensor(*number, at::kDouble);
    }
    if (!term.defined() || term.is_complex()) return std::nullopt;
    const auto found = term.to(at::kDouble).abs().nan_to_num_(0.0, 0.0, 0.0);
    size = size ? at::maximum(*size, found) : found;
  }
  return size;
}

std::optional<at::Tensor> size_of_shift(std::string_view name, const c10::FunctionSchema& schema,
                                        const torch::jit::Stack& stack) {
  if (!is_one_of(name, {"softmax", "log_softmax", "_safe_softmax"})) return std::nullopt;
  const auto* x = argument("self", schema, stack);
  const auto* dim = argument("dim", schema, stack);
  if (x == nullptr || !x->isTensor() || dim == nullptr || !dim->isInt()) return std::nullopt;
  const auto& scores = x->toTensor();
  if (scores.numel() == 0 || scores.dim() == 0) return std::nullopt;
  const auto numbers = scores.to(at::kDouble);
  auto size = numbers.amax(dim->toInt(), true).abs();
  // Of a logarithm the sum's is lost too, which is larger where scores are next to nothing.
  if (name == "log_softmax") size = size.maximum(numbers.logsumexp(dim->toInt(), true).abs());
  return size.nan_to_num_(0.0, 0.0).clamp_max_(largest_score).mul_(few_roundings);
}

}  // namespace ouroboros::judge
