#include "judge/blends.hpp"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <array>
#include <utility>

#include "judge/arguments.hpp"
#include "judge/whole_numbers.hpp"

namespace ouroboros::judge {
namespace {

/// A gate's sum comes late where what it blends is made in the same line: z h + (1 - z) tanh(r g).
constexpr std::size_t most_products = 4;

bool is_factor(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined() || !value.toTensor().has_storage()) {
    return false;
  }
  return !value.toTensor().is_complex() && !is_constant(value.toTensor());
}

/// In whatever type: a mask and its opposite may be bools.
bool add_up_to_one(const at::Tensor& a, const at::Tensor& b) {
  constexpr double rounding = 1e-6;  // The inputs move, and what was computed of them.
  return (a.to(at::kDouble) + b.to(at::kDouble))
      .sub_(1.0)
      .abs_()
      .le(rounding)
      .all()
      .item()
      .toBool();
}

at::Tensor size_of_numbers(const at::Tensor& numbers, const TensorSet& derived) {
  auto size = numbers.to(at::kDouble).abs().nan_to_num_(0.0, 0.0, 0.0);
  return derived.has(numbers) ? size : size.masked_fill_(size.ge(least_of_masks), 0.0);
}

}  // namespace

std::optional<Blends::Factors> Blends::meet(std::string_view name,
                                            std::span<const c10::IValue> arguments) {
  if (name != "mul" || !is_factor(arguments[0]) || !is_factor(arguments[1])) return std::nullopt;
  return Factors{arguments[0].toTensor(), arguments[1].toTensor()};
}

void Blends::note(Factors factors, const c10::IValue& product) {
  // Factors live on here, but no longer than their product does.
  std::erase_if(products_, [](const Product& one) { return one.memory.expired(); });
  if (products_.size() == most_products) products_.pop_front();
  const auto& tensor = product.toTensor();
  // What was multiplied in place is no factor any more.
  if (tensor.is_alias_of(factors.first)) return;
  products_.push_back(
      {std::move(factors), tensor.sizes().vec(), tensor.storage().getWeakStorageImpl()});
}

const Blends::Product* Blends::product_of(const c10::IValue& value) const {
  if (!value.isTensor() || !value.toTensor().defined() || !value.toTensor().has_storage()) {
    return nullptr;
  }
  const auto& tensor = value.toTensor();
  const auto found = std::ranges::find_if(products_, [&](const Product& one) {
    return one.memory.lock().get() == tensor.storage().unsafeGetStorageImpl() &&
           tensor.sizes() == one.shape;
  });
  return found == products_.end() ? nullptr : &*found;
}

std::optional<at::Tensor> Blends::size_of(std::string_view name,
                                          std::span<const c10::IValue> arguments,
                                          const TensorSet& derived) const {
  if (name != "add" || arguments.size() < 2) return std::nullopt;
  const auto* one = product_of(arguments[0]);
  const auto* other = product_of(arguments[1]);
  if (one == nullptr || other == nullptr || one->shape != other->shape) return std::nullopt;
  const auto turned = [](const Factors& of) { return Factors{of.second, of.first}; };
  for (const auto& [gate, numbers] : {one->factors, turned(one->factors)}) {
    for (const auto& [opposite, others] : {other->factors, turned(other->factors)}) {
      if (!add_up_to_one(gate, opposite)) continue;
      auto size = arguments[0].toTensor().abs().maximum(arguments[1].toTensor().abs());
      size = size.maximum(size_of_numbers(numbers, derived));
      return size.maximum(size_of_numbers(others, derived)).nan_to_num_(0.0, 0.0, 0.0);
    }
  }
  return std::nullopt;
}

}  // namespace ouroboros::judge
