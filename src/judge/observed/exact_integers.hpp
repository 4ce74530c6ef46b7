#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "judge/judge.hpp"
#include "judge/observed/tensor_set.hpp"

namespace ouroboros::judge {

/// Whether a reference leaves integers what they are, while it runs. Where it makes real numbers of
/// them, as a mean does, honest kernels lose the last bits of wide ones.
class ExactIntegers {
 public:
  ExactIntegers(const Problem& problem, const Tensors& inputs);

  /// Whether integers of the inputs say what an operator's results are.
  [[nodiscard]] bool meet(std::string_view name, std::span<const c10::IValue> arguments) const;

  void note(const c10::IValue& result);

  /// Those that have such integers; none where they become real.
  [[nodiscard]] std::vector<std::size_t> inputs() const;

 private:
  std::vector<std::size_t> inputs_;
  TensorSet integers_;
  bool real_ = false;
};

}  // namespace ouroboros::judge
