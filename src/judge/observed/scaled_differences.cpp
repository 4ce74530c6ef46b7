#include "judge/observed/scaled_differences.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/maximum.h>

#include <cmath>
#include <utility>

#include "judge/orders/arguments.hpp"
#include "judge/values/masks.hpp"

namespace ouroboros::judge {

std::optional<at::Tensor> ScaledDifferences::terms_of(
    std::string_view name, std::span<const c10::IValue> arguments) const {
  if (is_one_of(name, {"to", "_to_copy", "type_as"})) {
    const auto* known = terms_.find(arguments[0]);
    return known == nullptr ? std::nullopt : std::optional(*known);
  }
  if (name != "sub" || !arguments[0].isTensor()) return std::nullopt;
  const auto from = arguments[0].toTensor().to(at::kDouble).abs();
  const auto number = constant(arguments[1]);
  if (!number && !arguments[1].isTensor()) return std::nullopt;
  const auto terms = number ? from.clamp_min(std::abs(*number))
                            : at::maximum(from, arguments[1].toTensor().to(at::kDouble).abs());
  if (terms.numel() == 0 || terms.le(1).all().item().toBool()) return std::nullopt;
  return terms;
}

void ScaledDifferences::note(const at::Tensor& difference, at::Tensor terms) {
  terms_.note(difference, std::move(terms));
}

std::optional<at::Tensor> ScaledDifferences::size_of(std::string_view name,
                                                     std::span<const c10::IValue> arguments,
                                                     const TensorSet& derived) const {
  if (name != "mul") return std::nullopt;
  const auto* first = terms_.find(arguments[0]);
  const auto* second = terms_.find(arguments[1]);
  const auto& scale = first != nullptr ? arguments[1] : arguments[0];
  if ((first == nullptr) == (second == nullptr) || !scale.isTensor()) return std::nullopt;
  auto size = scale.toTensor().to(at::kDouble).abs().nan_to_num_(0.0, 0.0, 0.0);
  if (!derived.has(scale.toTensor())) size.masked_fill_(size.ge(least_of_masks), 0.0);
  return size.mul(first != nullptr ? *first : *second);
}

void ScaledDifferences::forget(const at::Tensor& tensor) { terms_.forget(tensor); }

}  // namespace ouroboros::judge
