#include "judge/observed/unmoved.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/frexp.h>
#include <c10/core/ScalarType.h>

#include <cmath>

#include "judge/orders/arguments.hpp"

namespace ouroboros::judge {
namespace {

/// A number, or a tensor of them, as scales of blocks that have a common exponent.
bool has_powers_of_two(const c10::IValue& value) {
  if (const auto number = constant(value)) return is_power_of_two(*number);
  if (!value.isTensor() || value.toTensor().scalar_type() != at::kDouble) return false;
  const auto& tensor = value.toTensor();
  if (tensor.numel() == 0) return false;
  // Nearly all others are told by their first number.
  if (!is_power_of_two(tensor.flatten()[0].item().toDouble())) return false;
  return std::get<0>(at::frexp(tensor)).abs().eq(0.5).all().item().toBool();
}

}  // namespace

Unmoved::Unmoved(const Tensors& moved, const Tensors& given) {
  for (std::size_t i = 0; i < moved.size(); ++i) {
    if (moved[i].scalar_type() == at::kDouble) known_.emplace_back(moved[i], given[i]);
  }
}

std::optional<at::Tensor> Unmoved::find(const at::Tensor& tensor, const TensorSet& computed) const {
  auto found = known(tensor);
  if (!found && tensor.has_storage() && !computed.has(tensor)) return tensor;
  return found;
}

std::optional<at::Tensor> Unmoved::known(const at::Tensor& tensor) const {
  if (!tensor.defined() || tensor.scalar_type() != at::kDouble || is_constant(tensor)) {
    return tensor;
  }
  if (!tensor.has_storage()) return std::nullopt;
  for (const auto& [is, would_be] : known_) {
    if (tensor.is_alias_of(is)) {  // The tensor itself, or a view of it.
      return would_be.as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset());
    }
  }
  return std::nullopt;
}

std::optional<c10::IValue> Unmoved::find(const c10::IValue& value,
                                         const TensorSet& computed) const {
  if (value.isTensor()) {
    auto found = find(value.toTensor(), computed);
    return found ? std::optional<c10::IValue>(*std::move(found)) : std::nullopt;
  }
  if (!value.isTensorList()) return value;
  c10::List<at::Tensor> all;
  for (const at::Tensor& one : value.toTensorVector()) {
    auto found = find(one, computed);
    if (!found) return std::nullopt;
    all.push_back(*std::move(found));
  }
  return c10::IValue(std::move(all));
}

std::optional<torch::jit::Stack> Unmoved::arguments(const c10::FunctionSchema& schema,
                                                    const torch::jit::Stack& stack,
                                                    const TensorSet& computed) const {
  torch::jit::Stack result;
  for (auto i = stack.size() - schema.arguments().size(); i < stack.size(); ++i) {
    auto found = find(stack[i], computed);
    if (!found) return std::nullopt;
    result.push_back(*std::move(found));
  }
  return result;
}

void Unmoved::note(const torch::jit::Stack& stack, const torch::jit::Stack& unmoved) {
  for (std::size_t i = 0; i < unmoved.size(); ++i) {
    const auto& is = stack[stack.size() - unmoved.size() + i];
    if (!is.isTensor() || known(is.toTensor())) continue;
    const auto& tensor = is.toTensor();
    const auto& would_be = unmoved[i].toTensor();
    const bool alike = tensor.sizes() == would_be.sizes() &&
                       tensor.strides() == would_be.strides() &&
                       tensor.storage_offset() == would_be.storage_offset();
    if (alike) known_.emplace_back(tensor, would_be);
  }
}

void Unmoved::forget(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return;
  std::erase_if(known_, [&](const auto& one) { return tensor.is_alias_of(one.first); });
}

bool is_power_of_two(double number) noexcept {
  int exponent = 0;
  return std::fabs(std::frexp(number, &exponent)) == 0.5;
}

bool makes_constants(std::string_view name, const c10::FunctionSchema& schema) {
  if (name == "detach") return true;  // In place, too: the end of `torch.tensor`.
  if (schema.is_mutable()) return false;
  return is_view(schema) ||
         is_one_of(name, {"empty", "zeros", "ones", "full", "scalar_tensor", "arange", "to",
                          "_to_copy", "clone", "contiguous", "stack", "cat"});
}

bool has_edges(std::string_view name, const c10::FunctionSchema& schema,
               const torch::jit::Stack& stack) {
  if (is_one_of(name,
                {"round",        "ceil",      "floor",     "trunc",        "fix",  "frac",
                 "sign",         "sgn",       "heaviside", "gt",           "ge",   "lt",
                 "le",           "eq",        "ne",        "greater",      "less", "greater_equal",
                 "less_equal",   "not_equal", "bucketize", "searchsorted", "fmod", "remainder",
                 "floor_divide", "argmax",    "argmin",    "isin"})) {
    return true;
  }
  const auto* type =
      is_one_of(name, {"to", "_to_copy"}) ? argument("dtype", schema, stack) : nullptr;
  return type != nullptr && type->isInt() &&
         c10::isIntegralType(type->toScalarType(), /*includeBool=*/true);
}

bool is_choice(std::string_view name, const c10::FunctionSchema& schema,
               const torch::jit::Stack& stack) {
  if (is_one_of(name, {"mul", "div"})) {
    const auto* by = argument("other", schema, stack);
    return by != nullptr && has_powers_of_two(*by);
  }
  if (is_one_of(name, {"scatter", "index_put"})) {
    const auto* accumulate = argument("accumulate", schema, stack);
    return argument("reduce", schema, stack) == nullptr &&
           (accumulate == nullptr || !accumulate->toBool());
  }
  return is_one_of(name, {"abs",        "absolute",   "neg",       "negative",    "relu",
                          "relu6",      "hardtanh",   "clamp",     "clamp_max",   "clamp_min",
                          "clip",       "maximum",    "minimum",   "fmax",        "fmin",
                          "where",      "hardshrink", "threshold", "masked_fill", "masked_scatter",
                          "index_fill", "frexp",      "ldexp"}) ||
         is_one_of(name, {"amax",
                          "amin",
                          "max",
                          "min",
                          "aminmax",
                          "cummax",
                          "cummin",
                          "sort",
                          "argsort",
                          "topk",
                          "kthvalue",
                          "median",
                          "nanmedian",
                          "max_pool1d",
                          "max_pool2d",
                          "max_pool3d",
                          "max_pool1d_with_indices",
                          "max_pool2d_with_indices",
                          "max_pool3d_with_indices",
                          "adaptive_max_pool1d",
                          "adaptive_max_pool2d",
                          "adaptive_max_pool3d"}) ||
         is_one_of(name, {"index", "index_select", "gather", "take", "masked_select",
                          "take_along_dim", "embedding"}) ||
         is_one_of(name, {"cat",
                          "concat",
                          "concatenate",
                          "stack",
                          "hstack",
                          "vstack",
                          "dstack",
                          "column_stack",
                          "clone",
                          "contiguous",
                          "reshape",
                          "flatten",
                          "flip",
                          "fliplr",
                          "flipud",
                          "rot90",
                          "roll",
                          "tile",
                          "repeat",
                          "repeat_interleave",
                          "tril",
                          "triu",
                          "diag",
                          "diag_embed",
                          "block_diag",
                          "pad",
                          "constant_pad_nd",
                          "im2col",
                          "pixel_shuffle",
                          "pixel_unshuffle",
                          "channel_shuffle",
                          "index_copy",
                          "select_scatter",
                          "slice_scatter",
                          "diagonal_scatter"});
}

}  // namespace ouroboros::judge
