#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

#include "judge/judge.hpp"

/// Inputs that say what is there and what is not.
namespace ouroboros::judge {

/// Whether an input is drawn as a mask in this case: it is declared one, the reference treats it as
/// one and the family has such, or it has bools in their plain form.
[[nodiscard]] bool is_drawn_as_mask(const Problem& problem, const CaseSpec& spec,
                                    std::size_t input);

/// Fills a contiguous tensor with zeros and ones, where rows lie along the last dimension that has
/// more than one element: ones up to some place, from some place on, or anywhere.
void draw_mask(const CaseSpec& spec, std::size_t input, const at::Tensor& into);

/// Whether the reference wants something left of each row of an input: of what is left out
/// throughout nobody asks for a softmax.
[[nodiscard]] bool wants_some(const CaseSpec& spec, std::size_t input) noexcept;

/// Puts a one in each row of bools that something is wanted of; of all else it changes nothing.
void leave_some(const CaseSpec& spec, std::size_t input, const at::Tensor& drawn);

}  // namespace ouroboros::judge
