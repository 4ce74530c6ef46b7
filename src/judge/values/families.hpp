#pragma once

#include <string>
#include <vector>

#include "judge/judge.hpp"

/// Which values the inputs of a case take.
namespace ouroboros::judge {

/// The families that the sweep of a problem uses for a dtype, in a fixed order, "normal" first.
/// "patchwork", which gives each row another family, and "scattered", which does so with a few rows
/// and numbers, are none of them: there one case stands for all families.
[[nodiscard]] std::vector<std::string> families(const Problem& problem, DType dtype);

/// Those of which one whole, large case is enough: a single element is not finite.
[[nodiscard]] std::vector<std::string> lone_families(const Problem& problem, DType dtype);

/// One for large cases that are ordinary otherwise: where outputs are few, rows of other families
/// beside it would hide what it shows.
[[nodiscard]] std::string whole_family(const Problem& problem, std::uint64_t seed);

/// Whether the family "twins" can give an input the numbers of another, but for one in each row.
[[nodiscard]] bool has_twins(const Problem& problem);

/// Whether there are rows of two inputs that may be multiplied: the family "sink" makes a few of
/// such scores stand out.
[[nodiscard]] bool may_score(const Problem& problem);

/// Draws input number `index` of a case into `into`, with the magnitudes of real values divided by
/// 2^`shrink`. "normal" with `shrink` 0 takes the fast path.
void draw_input(const Problem& problem, const CaseSpec& spec, std::size_t index, int shrink,
                const at::Tensor& into);

/// Draws every input of a case; real values are divided by 2^`shrink`.
[[nodiscard]] Tensors draw(const Problem& problem, const CaseSpec& spec, int shrink,
                           at::Device where = at::kCPU);

}  // namespace ouroboros::judge
