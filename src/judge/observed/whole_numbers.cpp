#include "judge/observed/whole_numbers.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <algorithm>

#include "judge/orders/arguments.hpp"

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

void WholeNumbers::note(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return;
  if (!c10::isIntegralType(value.toTensor().scalar_type(), /*includeBool=*/true) &&
      are_whole(value.toTensor())) {
    known_.note(value);
  }
}

void WholeNumbers::forget(const at::Tensor& tensor) { known_.forget(tensor); }

}  // namespace ouroboros::judge
