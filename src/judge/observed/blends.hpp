#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <span>
#include <string_view>

#include "judge/observed/recent_tensors.hpp"
#include "judge/observed/tensor_set.hpp"
#include "ouroboros/problem.hpp"

namespace ouroboros::judge {

/// Sums t c + (1 - t) d, while a reference runs: `lerp`, and those of two products that have
/// factors which add up to one, wherever these come from (gates, masks, weights of an
/// interpolation), or to what the sum is divided by (two states of attention that are merged). Who
/// writes one as d + t (c - d) loses some roundings of the larger of c and d,
/// whichever is left. Numbers count as far as inputs go: larger ones, such as x - 1e9, are there to
/// mask.
class Blends {
 public:
  Blends() = default;
  explicit Blends(const Tensors& inputs);

  /// Two tensors that are multiplied; constants of the reference's text are no gates.
  struct Factors {
    at::Tensor first;
    at::Tensor second;
  };

  /// Two such products that were added.
  struct Parts {
    Factors first;
    Factors second;
  };

  /// The factors of an operator with these arguments; empty where it is no product of tensors.
  [[nodiscard]] static std::optional<Factors> meet(std::string_view name,
                                                   std::span<const c10::IValue> arguments);

  /// What was made of them.
  void note(Factors factors, const at::Tensor& product);

  /// The parts of an operator with these arguments; empty where it is no sum of two products.
  [[nodiscard]] std::optional<Parts> parts_of(std::string_view name,
                                              std::span<const c10::IValue> arguments) const;

  /// What they add up to.
  void note(Parts parts, const at::Tensor& sum);

  /// Something is about to write to the tensor.
  void forget(const at::Tensor& tensor);

  /// Of such a sum: how large what is blended is, or what is added, where that is larger. Empty for
  /// others.
  [[nodiscard]] std::optional<at::Tensor> size_of(std::string_view name,
                                                  std::span<const c10::IValue> arguments,
                                                  const TensorSet& derived) const;

 private:
  /// How far the second factor counts where the first one is its gate.
  [[nodiscard]] at::Tensor size_of_gated(const Factors& of, const TensorSet& derived) const;
  /// Empty where no two factors, one of each, add up to the whole.
  [[nodiscard]] std::optional<at::Tensor> size_of_parts(const Parts& parts, const at::Tensor& whole,
                                                        const TensorSet& derived) const;

  double largest_ = 1.0;  ///< Of the inputs' finite numbers, and of what functions make of any.
  RecentTensors<Factors> products_;
  RecentTensors<Parts> sums_;
};

}  // namespace ouroboros::judge
