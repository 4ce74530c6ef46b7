#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "judge/judge.hpp"
#include "judge/observed/tensor_set.hpp"

namespace ouroboros::judge {

[[nodiscard]] bool takes_exponentials(std::string_view name);

/// Whether a reference takes exponentials of what it made of a product of two of its inputs, while
/// it runs: an attention's scores, or logits of a given matrix. Parameters are none of them, since
/// they are never large.
class Scores {
 public:
  /// What a tensor is made of.
  enum class Kind : std::uint8_t { constant, input, product };

  Scores(const Problem& problem, const Tensors& inputs);

  /// What an operator's results are made of, by its arguments.
  [[nodiscard]] Kind meet(std::string_view name, std::span<const c10::IValue> arguments);

  void note(const c10::IValue& result, Kind kind);

  [[nodiscard]] bool any() const noexcept { return any_; }

 private:
  TensorSet inputs_;
  TensorSet products_;
  bool any_ = false;
};

}  // namespace ouroboros::judge
