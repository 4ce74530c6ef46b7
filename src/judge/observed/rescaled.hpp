#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "judge/observed/recent_tensors.hpp"
#include "ouroboros/problem.hpp"

namespace ouroboros::judge {

/// Which tensors have numbers of a real input, but for their sign or a power of two, while a
/// reference runs: `x.abs()`, `-2 * x`, `x.roll(1)`, `x.amax(-1)`. Nothing is rounded on the way,
/// so that what is asked of them is asked of the input.
class Rescaled {
 public:
  Rescaled(const Problem& problem, const Tensors& inputs) : problem_(problem), inputs_(inputs) {}

  /// How a tensor's numbers come of an input's.
  struct Origin {
    std::size_t input = 0;   ///< Its place among the problem's.
    double factor = 1.0;     ///< A power of two, of either sign.
    bool magnitude = false;  ///< Before the factor they lost their sign.
    bool alone = true;       ///< No other numbers are among them, as a mask or a limit puts there.

    /// Those of the input's numbers that become `value`.
    [[nodiscard]] std::vector<double> sources(double value) const;
  };

  /// Of an input that may be several ones the first.
  [[nodiscard]] std::optional<Origin> of(const at::Tensor& tensor) const;

  /// Of the result of an operator whose arguments end `stack`. Of what is chosen from several
  /// inputs the first.
  [[nodiscard]] std::optional<Origin> meet(std::string_view name, const c10::FunctionSchema& schema,
                                           const torch::jit::Stack& stack) const;

  /// Places, as `max` returns them too, are no such numbers.
  void note(const c10::IValue& result, Origin origin) {
    if (result.isTensor() && result.toTensor().is_floating_point()) {
      known_.note(result.toTensor(), origin);
    }
  }

  /// Something is about to write to the tensor.
  void forget(const at::Tensor& tensor) { known_.forget(tensor); }

 private:
  [[nodiscard]] std::optional<Origin> of_first(std::span<const c10::IValue> values) const;

  const Problem& problem_;
  const Tensors& inputs_;
  RecentTensors<Origin> known_;
};

}  // namespace ouroboros::judge
