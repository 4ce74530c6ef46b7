#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "judge/orders/arguments.hpp"

namespace ouroboros::judge {

using Extents = std::vector<std::int64_t>;

/// What an operator is given, by name.
class Given {
 public:
  /// `in_order`: of the terms of sums, one of `judge::orders`.
  Given(const c10::FunctionSchema& schema, const torch::jit::Stack& stack, int in_order)
      : order(in_order), schema_(schema), stack_(stack) {}

  const int order;

  [[nodiscard]] const c10::IValue* value(std::string_view name) const {
    const auto* found = argument(name, schema_, stack_);
    const bool absent = found != nullptr &&
                        (found->isNone() || (found->isTensor() && !found->toTensor().defined()));
    return absent ? nullptr : found;
  }
  [[nodiscard]] at::Tensor tensor(std::string_view name) const {
    const auto* found = value(name);
    return found != nullptr && found->isTensor() ? found->toTensor() : at::Tensor();
  }
  [[nodiscard]] std::optional<at::Tensor> optional(std::string_view name) const {
    const auto found = tensor(name);
    return found.defined() ? std::optional(found) : std::nullopt;
  }
  [[nodiscard]] bool flag(std::string_view name) const {
    const auto* found = value(name);
    return found != nullptr && found->isBool() && found->toBool();
  }
  [[nodiscard]] double number(std::string_view name, double otherwise) const {
    const auto* found = value(name);
    return found != nullptr && found->isScalar() ? found->toScalar().toDouble() : otherwise;
  }
  [[nodiscard]] std::int64_t whole(std::string_view name, std::int64_t otherwise) const {
    const auto* found = value(name);
    return found != nullptr && found->isInt() ? found->toInt() : otherwise;
  }
  [[nodiscard]] Extents extents(std::string_view name) const {
    const auto* found = value(name);
    return found != nullptr && found->isIntList() ? found->toIntVector() : Extents();
  }
  /// The dimensions of `x` that are named, from 0; all of them where none is.
  [[nodiscard]] Extents dims(const at::Tensor& x) const {
    const auto* found = value("dim");
    Extents out;
    if (found != nullptr && found->isInt()) out = {found->toInt()};
    if (found != nullptr && found->isIntList()) out = found->toIntVector();
    for (auto& dim : out) dim += dim < 0 ? x.dim() : 0;
    if (out.empty()) {
      out.resize(static_cast<std::size_t>(x.dim()));
      std::iota(out.begin(), out.end(), 0);
    }
    return out;
  }

 private:
  const c10::FunctionSchema& schema_;
  const torch::jit::Stack& stack_;
};

}  // namespace ouroboros::judge
