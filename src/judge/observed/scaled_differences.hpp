#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <span>
#include <string_view>

#include "judge/observed/recent_tensors.hpp"
#include "judge/observed/tensor_set.hpp"

namespace ouroboros::judge {

/// Differences of whole numbers that are scaled, as quantised ones less their zero point, while a
/// reference runs. Nothing is lost of (q - z) s, but who writes it as q s - z s, one multiply-add a
/// number, loses some roundings of the scaled terms.
class ScaledDifferences {
 public:
  /// Of an operator that makes whole numbers of whole numbers: how large the terms are, where it
  /// takes one from the other, or casts what did. Empty for all others, and where no term is larger
  /// than a mask's.
  [[nodiscard]] std::optional<at::Tensor> terms_of(std::string_view name,
                                                   std::span<const c10::IValue> arguments) const;

  /// A result of that, and its terms.
  void note(const at::Tensor& difference, at::Tensor terms);

  /// Of such a difference times a scale: how large the scaled terms are. Empty for all others.
  /// Large numbers of a scale that does not follow from the inputs are there to mask.
  [[nodiscard]] std::optional<at::Tensor> size_of(std::string_view name,
                                                  std::span<const c10::IValue> arguments,
                                                  const TensorSet& derived) const;

  /// Something is about to write to the tensor.
  void forget(const at::Tensor& tensor);

 private:
  RecentTensors<at::Tensor> terms_;
};

}  // namespace ouroboros::judge
