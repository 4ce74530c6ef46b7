#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "judge/observed/addends.hpp"
#include "judge/observed/blends.hpp"
#include "judge/observed/deviations.hpp"
#include "judge/observed/dot_products.hpp"
#include "judge/observed/rescaled.hpp"
#include "judge/observed/scores.hpp"
#include "judge/runs/operation.hpp"
#include "judge/runs/pass.hpp"

namespace ouroboros::judge {

/// What becomes known of an operator's results by what it is given, in those runs that ask for it.
class Notes {
 public:
  /// Before the operator is called.
  Notes(Pass& pass, const Operation& operation);

  /// Results follow from the inputs, in a run where that counts.
  [[nodiscard]] bool follows() const noexcept { return follows_; }

  /// And are whole numbers made of whole numbers.
  [[nodiscard]] bool whole() const noexcept { return whole_; }

  /// What was known of tensors that the operator is about to write to is true no more.
  void forget_written() const;

  /// Of what it returned.
  void keep() const;

 private:
  void keep_of(const c10::IValue& result) const;

  Pass& pass_;
  const Operation& operation_;
  bool follows_ = false;
  bool computes_ = false;  ///< Results are none of the reference's constants.
  bool whole_ = false;
  bool of_integers_ = false;
  std::optional<at::Tensor> terms_;
  std::optional<Blends::Factors> blended_;
  std::optional<Blends::Parts> blended_parts_;
  std::optional<DotProducts::Factors> multiplied_;
  std::optional<Addends::Known> quantised_;
  std::optional<Deviations::Known> deviation_;
  std::optional<Rescaled::Origin> rescaled_;
  Scores::Kind scores_ = Scores::Kind::constant;
};

/// What is to be noted of a variance that the reference writes out: in the last order of loops, in
/// which one that is an operator is made in one pass, too.
[[nodiscard]] std::optional<Deviations::Known> deviation_of(const Pass& pass,
                                                            const Operation& operation);

}  // namespace ouroboros::judge
