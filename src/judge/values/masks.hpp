#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

#include "judge/judge.hpp"

/// Inputs that say what is there and what is not.
namespace ouroboros::judge {

/// Constants that a mask is multiplied by, as -10000 and -1e9, are so large at the least.
inline constexpr double least_of_masks = 1e3;

/// Whether an input is drawn as a mask in this case: it is declared one, the reference treats it as
/// one and the family has such, or it has bools in their plain form.
[[nodiscard]] bool is_drawn_as_mask(const Problem& problem, const CaseSpec& spec,
                                    std::size_t input);

/// The last dimension of an input that is not broadcast, as the 1 of [batch, keys, 1] is; the last
/// one where all are. Rows of masks lie along it.
[[nodiscard]] std::size_t row_dimension(const Input& input) noexcept;

/// Fills a contiguous tensor with zeros and ones: ones up to some place of a row, from some place
/// on, or anywhere.
void draw_mask(const Problem& problem, const CaseSpec& spec, std::size_t input,
               const at::Tensor& into);

/// Whether an input may say that nothing is there: masks, bools, lengths, and indices where one
/// number stands for none.
[[nodiscard]] bool says_what_is_there(const Input& input) noexcept;

/// Whether the reference wants something left of each row of an input: of what is left out
/// throughout nobody asks for a softmax.
[[nodiscard]] bool wants_some(const CaseSpec& spec, std::size_t input) noexcept;

/// Puts a one in each row of bools that something is wanted of; of all else it changes nothing.
void leave_some(const CaseSpec& spec, std::size_t input, const at::Tensor& drawn);

}  // namespace ouroboros::judge
