#include "judge/whole_numbers.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <algorithm>

#include "judge/arguments.hpp"

namespace ouroboros::judge {
namespace {

/// float32 has all whole numbers up to there.
constexpr double largest = 0x1p24;

/// Whether whole numbers of whole numbers are exact: where they are added, multiplied or chosen,
/// but not where they are divided.
bool makes_wholes(std::string_view name) {
  return is_one_of(name,
                   {"to", "_to_copy", "type_as", "add", "sub", "rsub", "mul", "neg", "abs"}) ||
         is_one_of(name, {"sum", "cumsum", "prod", "cumprod", "mm", "bmm", "matmul", "einsum",
                          "outer", "scatter_add", "index_add"}) ||
         is_one_of(name, {"where", "masked_fill", "maximum", "minimum", "amax", "amin", "relu",
                          "clamp", "clamp_min", "clamp_max", "tril", "triu"}) ||
         is_one_of(name, {"clone", "contiguous", "reshape", "flatten", "repeat",
                          "repeat_interleave", "cat", "stack", "index", "index_select", "gather",
                          "scatter", "flip", "roll", "constant_pad_nd"});
}

bool are_whole(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble &&
         tensor.eq(tensor.round()).logical_and_(tensor.abs().le(largest)).all().item().toBool();
}

}  // namespace

bool WholeNumbers::has(const at::Tensor& tensor, const TensorSet& derived) const {
  return !tensor.defined() || c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/true) ||
         !derived.has(tensor) || known_.has(tensor);
}

bool WholeNumbers::come_of(std::string_view name, std::span<const c10::IValue> arguments,
                           const TensorSet& derived) const {
  // Of the second one only the type counts.
  if (is_one_of(name, {"to", "type_as"})) arguments = arguments.first(1);
  return makes_wholes(name) && std::ranges::all_of(arguments, [&](const c10::IValue& value) {
           if (value.isTensor()) return has(value.toTensor(), derived);
           if (!value.isTensorList()) return true;
           const auto list = value.toTensorVector();
           return std::ranges::all_of(list, [&](const auto& one) { return has(one, derived); });
         });
}

bool WholeNumbers::are_differences(std::string_view name,
                                   std::span<const c10::IValue> arguments) const {
  return is_one_of(name, {"sub", "rsub"}) ||
         (is_one_of(name, {"to", "_to_copy", "type_as"}) && differences_.any(arguments.first(1)));
}

void WholeNumbers::note(const c10::IValue& value, bool difference) {
  if (!value.isTensor() || !value.toTensor().defined()) return;
  const bool integral = c10::isIntegralType(value.toTensor().scalar_type(), /*includeBool=*/true);
  if (!integral && !are_whole(value.toTensor())) return;
  if (!integral) known_.note(value);
  if (difference) differences_.note(value);
}

std::optional<at::Tensor> WholeNumbers::size_of_blended(std::string_view name,
                                                        std::span<const c10::IValue> arguments,
                                                        const TensorSet& derived) const {
  if (name != "mul" || !arguments[0].isTensor() || !arguments[1].isTensor()) return std::nullopt;
  const auto& first = arguments[0].toTensor();
  const auto& second = arguments[1].toTensor();
  if (differences_.has(first) == differences_.has(second)) return std::nullopt;
  const auto& numbers = differences_.has(first) ? second : first;
  if (numbers.is_complex() || known_.has(numbers)) return std::nullopt;
  auto size = numbers.to(at::kDouble).abs().nan_to_num_(0.0, 0.0, 0.0);
  if (derived.has(numbers)) return size;
  return size.masked_fill_(size.ge(least_of_masks).logical_or_(size.eq(1)), 0.0);
}

void WholeNumbers::forget(const at::Tensor& tensor) {
  known_.forget(tensor);
  differences_.forget(tensor);
}

}  // namespace ouroboros::judge
