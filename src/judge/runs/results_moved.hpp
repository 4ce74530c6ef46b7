#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "judge/observed/dot_products.hpp"
#include "judge/runs/operation.hpp"
#include "judge/runs/pass.hpp"

namespace ouroboros::judge {

/// What an operator returns, as others may compute it: by how much that moves is told by what it is
/// given.
class ResultsMoved {
 public:
  /// Before the operator is called. `follows`: some of its arguments are no constants. `whole`: it
  /// makes whole numbers of whole numbers, of which nothing is lost.
  ResultsMoved(Pass& pass, const Operation& operation, bool follows, bool whole);

  /// Moves what it returned. Autograd, which may have kept it for a reference's own backward pass,
  /// does not see that.
  void apply() const;

 private:
  [[nodiscard]] std::optional<at::Tensor> size_of_result(bool follows, bool whole) const;

  Pass& pass_;
  const Operation& operation_;
  std::optional<DotProducts::Sums> sums_;
  /// How large the numbers are that the result is the difference of, or blended of.
  std::optional<at::Tensor> size_;
  std::optional<at::Tensor> shift_;  ///< Of probabilities, or of their logarithms, for each row.
  bool power_ = false;
  bool inexact_ = false;
};

}  // namespace ouroboros::judge
