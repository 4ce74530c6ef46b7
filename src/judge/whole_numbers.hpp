#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "judge/tensor_set.hpp"

namespace ouroboros::judge {

/// Constants that a mask is multiplied by, as -10000 and -1e9, are so large at the least.
inline constexpr double least_of_masks = 1e3;

/// Which real tensors hold whole numbers that come of bools and integers alone, while a reference
/// runs: a mask that was cast, one less it, a count. No arithmetic rounds them, so that nothing is
/// lost of their differences.
class WholeNumbers {
 public:
  /// Whether an operator with these arguments, of which some are `derived` from inputs, makes such
  /// numbers of such numbers, as far as they are small.
  [[nodiscard]] bool come_of(std::string_view name, std::span<const c10::IValue> arguments,
                             const TensorSet& derived) const;

  /// Whether these are differences of such numbers, in whatever type.
  [[nodiscard]] bool are_differences(std::string_view name,
                                     std::span<const c10::IValue> arguments) const;

  /// A result of such an operator, and whether it is a difference.
  void note(const c10::IValue& value, bool difference);

  /// Of a difference, as one less a mask, times numbers: how large these are. Who writes a blend
  /// x m + y (1 - m) as y + (x - y) m loses some roundings of y. Empty for all others; zero for
  /// constants that are too large to be blended: they are there to mask.
  [[nodiscard]] std::optional<at::Tensor> size_of_blended(std::string_view name,
                                                          std::span<const c10::IValue> arguments,
                                                          const TensorSet& derived) const;

  /// Something is about to write to the tensor.
  void forget(const at::Tensor& tensor);

 private:
  [[nodiscard]] bool has(const at::Tensor& tensor, const TensorSet& derived) const;

  TensorSet known_;
  TensorSet differences_;
};

}  // namespace ouroboros::judge
