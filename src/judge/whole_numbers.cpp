#include "judge/whole_numbers.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/maximum.h>

#include <algorithm>
#include <cmath>
#include <utility>

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

void WholeNumbers::note(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return;
  if (!c10::isIntegralType(value.toTensor().scalar_type(), /*includeBool=*/true) &&
      are_whole(value.toTensor())) {
    known_.note(value);
  }
}

std::optional<at::Tensor> WholeNumbers::known_terms(const c10::IValue& value) const {
  if (!value.isTensor() || !value.toTensor().defined() || !value.toTensor().has_storage()) {
    return std::nullopt;
  }
  const auto* memory = value.toTensor().storage().unsafeGetStorageImpl();
  for (const auto& one : differences_) {
    if (one.memory.lock().get() == memory && one.terms.sizes() == value.toTensor().sizes()) {
      return one.terms;
    }
  }
  return std::nullopt;
}

std::optional<at::Tensor> WholeNumbers::terms_of(std::string_view name,
                                                 std::span<const c10::IValue> arguments) const {
  if (is_one_of(name, {"to", "_to_copy", "type_as"})) return known_terms(arguments[0]);
  if (name != "sub" || !arguments[0].isTensor()) return std::nullopt;
  const auto from = arguments[0].toTensor().to(at::kDouble).abs();
  const auto number = constant(arguments[1]);
  if (!number && !arguments[1].isTensor()) return std::nullopt;
  const auto terms = number ? from.clamp_min(std::abs(*number))
                            : at::maximum(from, arguments[1].toTensor().to(at::kDouble).abs());
  if (terms.numel() == 0 || terms.le(1).all().item().toBool()) return std::nullopt;
  return terms;
}

void WholeNumbers::note_difference(const c10::IValue& value, at::Tensor terms) {
  std::erase_if(differences_, [](const Difference& one) { return one.memory.expired(); });
  if (!value.isTensor() || !value.toTensor().has_storage()) return;
  differences_.push_back({value.toTensor().storage().getWeakStorageImpl(), std::move(terms)});
}

std::optional<at::Tensor> WholeNumbers::size_of_scaled(
    std::string_view name, std::span<const c10::IValue> arguments) const {
  if (name != "mul") return std::nullopt;
  const auto first = known_terms(arguments[0]);
  const auto second = known_terms(arguments[1]);
  const auto& scale = first ? arguments[1] : arguments[0];
  if (first.has_value() == second.has_value() || !scale.isTensor()) return std::nullopt;
  const auto size = scale.toTensor().to(at::kDouble).abs().nan_to_num_(0.0, 0.0, 0.0);
  return size.masked_fill(size.ge(least_of_masks), 0.0).mul(first ? *first : *second);
}

void WholeNumbers::forget(const at::Tensor& tensor) { known_.forget(tensor); }

}  // namespace ouroboros::judge
