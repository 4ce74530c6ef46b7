#pragma once

#include <span>
#include <string_view>

#include "judge/observed/tensor_set.hpp"

namespace ouroboros::judge {

/// Which real tensors hold whole numbers that come of bools and integers alone, while a reference
/// runs: a mask that was cast, one less it, a count. No arithmetic rounds them, so that nothing is
/// lost of their differences.
class WholeNumbers {
 public:
  /// Whether an operator with these arguments, of which some are `derived` from inputs, makes such
  /// numbers of such numbers, as far as they are small.
  [[nodiscard]] bool come_of(std::string_view name, std::span<const c10::IValue> arguments,
                             const TensorSet& derived) const;

  /// A result of such an operator.
  void note(const c10::IValue& value);

  /// Something is about to write to the tensor.
  void forget(const at::Tensor& tensor);

 private:
  [[nodiscard]] bool has(const at::Tensor& tensor, const TensorSet& derived) const;

  TensorSet known_;
};

}  // namespace ouroboros::judge
