#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

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

  /// A result of such an operator.
  void note(const c10::IValue& value);

  /// Of a difference of such numbers, or one in another type: how large its terms are. Empty for
  /// all others, and where no term is larger than a mask's.
  [[nodiscard]] std::optional<at::Tensor> terms_of(std::string_view name,
                                                   std::span<const c10::IValue> arguments) const;

  /// A result of that, and its terms.
  void note_difference(const c10::IValue& value, at::Tensor terms);

  /// Of such a difference times a scale, as of quantised numbers less their zero point: how large
  /// the scaled terms are. Who writes (q - z) s as q s - z s loses some roundings of them. Empty
  /// for all others.
  [[nodiscard]] std::optional<at::Tensor> size_of_scaled(
      std::string_view name, std::span<const c10::IValue> arguments) const;

  /// Something is about to write to the tensor.
  void forget(const at::Tensor& tensor);

 private:
  struct Difference {
    c10::weak_intrusive_ptr<c10::StorageImpl> memory;
    at::Tensor terms;
  };

  [[nodiscard]] bool has(const at::Tensor& tensor, const TensorSet& derived) const;
  [[nodiscard]] std::optional<at::Tensor> known_terms(const c10::IValue& value) const;

  TensorSet known_;
  std::vector<Difference> differences_;
};

}  // namespace ouroboros::judge
