#include "judge/complements.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>

#include <cmath>

#include "judge/arguments.hpp"

namespace ouroboros::judge {
namespace {

/// 2^-25 over 32 2^-24: see Tolerance.
constexpr double lost = 0x1p-6;

/// Larger constants lose less than the inputs' roundings do; smaller ones are rarely what is left
/// of 1, and would lose every digit.
constexpr double largest = 0x1p-6;
constexpr double smallest = 0x1p-10;

}  // namespace

std::optional<at::Tensor> size_of_complement(std::string_view name,
                                             const c10::FunctionSchema& schema,
                                             const torch::jit::Stack& stack) {
  const auto tensor = [&](std::string_view wanted) -> at::Tensor {
    const auto* value = argument(wanted, schema, stack);
    return value != nullptr && value->isTensor() ? value->toTensor() : at::Tensor();
  };
  const auto multiplied_by = [&](std::string_view wanted) {
    const auto* value = argument(wanted, schema, stack);
    const double size = value != nullptr ? std::fabs(constant(*value).value_or(0.0)) : 0.0;
    return size >= smallest && size < largest;
  };
  const auto size_of = [](const at::Tensor& multiplied) -> std::optional<at::Tensor> {
    if (!multiplied.defined() || multiplied.is_complex()) return std::nullopt;
    return multiplied.to(at::kDouble).abs().mul_(lost);
  };
  if (name == "mul") {
    if (multiplied_by("other")) return size_of(tensor("self"));
    if (multiplied_by("self")) return size_of(tensor("other"));
  } else if (name == "add" && multiplied_by("alpha")) {
    return size_of(tensor("other"));
  } else if (name == "addcmul" && multiplied_by("value")) {
    return size_of(tensor("tensor1") * tensor("tensor2"));
  } else if (name == "lerp" && multiplied_by("weight")) {
    return size_of(tensor("end") - tensor("self"));
  }
  return std::nullopt;
}

}  // namespace ouroboros::judge
