#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "judge/judge.hpp"
#include "judge/values/layout.hpp"

/// Numbers of inputs that are data.
namespace ouroboros::judge {

/// The inputs of real values that are data: no weights, no bools.
[[nodiscard]] std::vector<std::size_t> data_of(const Problem& problem);

/// Of several of these the one that a family has for itself: "absent" and those of a lone
/// number. Cases that follow one another take turns.
[[nodiscard]] std::optional<std::size_t> chosen_of_data(const Problem& problem,
                                                        const CaseSpec& spec);

/// Whether no other input of real values is there to be multiplied with: products of two very tall
/// ones leave float32 nothing to tell close scores apart with. Masks of bools leave it as it is.
[[nodiscard]] bool is_alone(const Problem& problem);

/// The first of the inputs before this one that can hold the same numbers.
[[nodiscard]] std::optional<std::size_t> twin_of(const Problem& problem, std::size_t input);

/// The first inputs of real values whose rows are as long as one another's, and so may be
/// multiplied to scores; none where there is one alone.
[[nodiscard]] std::vector<std::size_t> scoring(const Problem& problem);

/// Real values of a family as float64: small cases only, so clarity before speed.
[[nodiscard]] std::vector<double> real_values(const Problem& problem, const CaseSpec& spec,
                                              std::size_t input, DType dtype, const Layout& layout,
                                              std::size_t count);

/// What is added to a size that has to be positive. Families of small numbers keep theirs.
[[nodiscard]] double least_positive(const CaseSpec& spec, DType dtype, int shrink);

}  // namespace ouroboros::judge
