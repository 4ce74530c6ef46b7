#include "judge/observed/deviations.hpp"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "judge/orders/arguments.hpp"
#include "judge/orders/rows.hpp"
#include "judge/orders/sums.hpp"
#include "judge/orders/welford.hpp"

namespace ouroboros::judge {
namespace {

using Kind = Deviations::Known::Kind;

bool are_one(const at::Tensor& a, const at::Tensor& b) {
  return a.is_alias_of(b) && a.storage_offset() == b.storage_offset() && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

/// Whether each number of `x` meets the mean of its own row.
bool fits(const at::Tensor& mean, const at::Tensor& x, const Extents& dims) {
  auto kept = x.sizes().vec();
  for (const auto dim : dims) kept[static_cast<std::size_t>(dim)] = 1;
  const auto shape = std::span(mean.sizes().data(), mean.sizes().size());
  return mean.numel() * count_of(x, dims) == x.numel() && shape.size() <= kept.size() &&
         std::ranges::equal(shape, std::span(kept).last(shape.size()));
}

Extents sorted(Extents dims) {
  std::ranges::sort(dims);
  return dims;
}

}  // namespace

std::optional<Deviations::Known> Deviations::meet(std::string_view name,
                                                  const c10::FunctionSchema& schema,
                                                  const torch::jit::Stack& stack) const {
  if (schema.is_mutable()) return std::nullopt;
  const Given given(schema, stack, 0);
  const auto self = given.tensor("self");
  if (!can_be_added(self) || self.numel() == 0) return std::nullopt;
  if (is_one_of(name, {"sum", "mean"})) {
    return Known{name == "sum" ? Kind::sum : Kind::mean, self, self, sorted(given.dims(self))};
  }
  const auto* known = known_.find(self);
  const auto is = [](const Known* one, Kind kind) { return one != nullptr && one->kind == kind; };
  const auto* other = given.value("other");
  if (name == "div" && is(known, Kind::sum) && other != nullptr &&
      constant(*other) == static_cast<double>(count_of(known->x, known->dims))) {
    return Known{Kind::mean, known->x, known->x, known->dims};
  }
  if (name == "sub" && other != nullptr && other->isTensor() && given.number("alpha", 1.0) == 1.0) {
    const auto* mean = known_.find_reshaped(*other);
    if (!is(mean, Kind::mean) || !are_one(mean->x, self)) return std::nullopt;
    if (!fits(other->toTensor(), self, mean->dims)) return std::nullopt;
    return Known{Kind::away, self, self, mean->dims};
  }
  if (!is(known, Kind::away)) return std::nullopt;
  const bool squares = name == "square" || (name == "pow" && given.number("exponent", 0.0) == 2.0);
  const auto* factor = name == "mul" && other != nullptr ? known_.find(*other) : nullptr;
  if (!squares && (!is(factor, Kind::away) || factor->dims != known->dims ||
                   factor->x.sizes() != known->x.sizes())) {
    return std::nullopt;
  }
  return Known{Kind::product, known->x, squares ? known->x : factor->x, known->dims};
}

void Deviations::note(const c10::IValue& result, Known known) {
  if (result.isTensor() && result.toTensor().has_storage()) {
    known_.note(result.toTensor(), std::move(known));
  }
}

std::optional<at::Tensor> Deviations::sum(std::string_view name, const c10::FunctionSchema& schema,
                                          const torch::jit::Stack& stack) const {
  if (!is_one_of(name, {"sum", "mean"}) || schema.is_mutable()) return std::nullopt;
  const Given given(schema, stack, 0);
  const auto terms = given.tensor("self");
  const auto* known = known_.find(terms);
  if (known == nullptr || known->kind != Kind::product ||
      sorted(given.dims(terms)) != known->dims || !terms.isfinite().all().item().toBool()) {
    return std::nullopt;
  }
  const auto made = comoments_in_one_pass(known->x, known->y, known->dims).products;
  const auto count = static_cast<double>(count_of(terms, known->dims));
  return without(name == "sum" ? made : made / count, known->dims, given.flag("keepdim"));
}

void Deviations::forget(const at::Tensor& tensor) {
  known_.forget(tensor);
  known_.forget_if(
      [&](const Known& one) { return one.x.is_alias_of(tensor) || one.y.is_alias_of(tensor); });
}

}  // namespace ouroboros::judge
