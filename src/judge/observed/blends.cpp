#include "judge/observed/blends.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rsub.h>

#include <algorithm>
#include <utility>

#include "judge/orders/arguments.hpp"
#include "judge/values/masks.hpp"

namespace ouroboros::judge {
namespace {

bool is_factor(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined() || !value.toTensor().has_storage()) {
    return false;
  }
  return !value.toTensor().is_complex() && !is_constant(value.toTensor());
}

/// In whatever type: a mask and its opposite may be bools.
bool add_up_to(const at::Tensor& a, const at::Tensor& b, const at::Tensor& whole) {
  constexpr double rounding = 1e-6;  // The inputs move, and what was computed of them.
  return (a.to(at::kDouble) + b.to(at::kDouble))
      .sub(whole)
      .abs_()
      .le(whole.abs() * rounding)
      .all()
      .item()
      .toBool();
}

}  // namespace

Blends::Blends(const Tensors& inputs) {
  for (const auto& input : inputs) {
    if (!input.is_floating_point() || input.numel() == 0) continue;
    const auto size = input.to(at::kDouble).nan_to_num(0.0, 0.0, 0.0).abs().max();
    largest_ = std::max(largest_, size.item().toDouble());
  }
}

std::optional<Blends::Factors> Blends::meet(std::string_view name,
                                            std::span<const c10::IValue> arguments) {
  if (name != "mul" || !is_factor(arguments[0]) || !is_factor(arguments[1])) return std::nullopt;
  return Factors{arguments[0].toTensor(), arguments[1].toTensor()};
}

void Blends::note(Factors factors, const at::Tensor& product) {
  // What was multiplied in place is no factor any more.
  if (!product.is_alias_of(factors.first)) products_.note(product, std::move(factors));
}

void Blends::note(Parts parts, const at::Tensor& sum) { sums_.note(sum, std::move(parts)); }

void Blends::forget(const at::Tensor& tensor) {
  products_.forget(tensor);
  sums_.forget(tensor);
}

at::Tensor Blends::size_of_gated(const Factors& of, const TensorSet& derived) const {
  constexpr double grown = 64.0;  // What a layer makes of its inputs.
  const auto& [gate, numbers] = of;
  auto size = numbers.to(at::kDouble).abs().nan_to_num_(0.0, 0.0, 0.0);
  if (!derived.has(numbers)) size.masked_fill_(size.ge(least_of_masks), 0.0);
  return at::minimum(size, gate.ne(0).to(at::kDouble).mul_(grown - 1.0).add_(1.0).mul_(largest_));
}

std::optional<Blends::Parts> Blends::parts_of(std::string_view name,
                                              std::span<const c10::IValue> arguments) const {
  if (name != "add" || arguments.size() < 2) return std::nullopt;
  const auto* one = products_.find(arguments[0]);
  const auto* other = products_.find(arguments[1]);
  if (one == nullptr || other == nullptr) return std::nullopt;
  if (arguments[0].toTensor().sizes() != arguments[1].toTensor().sizes()) return std::nullopt;
  return Parts{*one, *other};
}

std::optional<at::Tensor> Blends::size_of_parts(const Parts& parts, const at::Tensor& whole,
                                                const TensorSet& derived) const {
  const auto turned = [](const Factors& of) { return Factors{of.second, of.first}; };
  for (const auto& first : {parts.first, turned(parts.first)}) {
    for (const auto& second : {parts.second, turned(parts.second)}) {
      if (!add_up_to(first.first, second.first, whole)) continue;
      return size_of_gated(first, derived).maximum(size_of_gated(second, derived));
    }
  }
  return std::nullopt;
}

std::optional<at::Tensor> Blends::size_of(std::string_view name,
                                          std::span<const c10::IValue> arguments,
                                          const TensorSet& derived) const {
  if (name == "lerp") {
    const auto start = arguments[0].toTensor();
    const auto end = arguments[1].toTensor();
    if (start.is_complex()) return std::nullopt;
    // A constant is no mask, whatever it weighs.
    if (!arguments[2].isTensor()) return start.abs().maximum(end.abs());
    const auto weight = arguments[2].toTensor();
    return size_of_gated({at::rsub(weight, 1), start}, derived)
        .maximum(size_of_gated({weight, end}, derived));
  }
  if (name == "div" && arguments[1].isTensor()) {
    const auto* sum = sums_.find(arguments[0]);
    if (sum == nullptr || arguments[1].toTensor().is_complex()) return std::nullopt;
    return size_of_parts(*sum, arguments[1].toTensor(), derived);
  }
  const auto parts = parts_of(name, arguments);
  if (!parts) return std::nullopt;
  const auto& product = arguments[0].toTensor();
  auto size = size_of_parts(*parts, at::ones({}, product.options().dtype(at::kDouble)), derived);
  if (size) {
    size = size->maximum(product.abs()).maximum(arguments[1].toTensor().abs());
    size->nan_to_num_(0.0, 0.0, 0.0);
  }
  return size;
}

}  // namespace ouroboros::judge
