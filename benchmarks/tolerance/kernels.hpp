#pragma once

#include <string>
#include <vector>

#include "arithmetic.hpp"
#include "judge/judge.hpp"

namespace tolerance {

/// Mutants of one problem besides those of precision: names that its kernel knows.
[[nodiscard]] std::vector<std::string> mutants_of(const std::string& problem);

/// Whether a problem adds numbers up, so that the order and the precision of sums matter.
[[nodiscard]] bool has_sums(const std::string& problem);

/// Computes a case of a shipped problem the way that `way` says.
[[nodiscard]] ouroboros::Tensors run(const std::string& problem, const Way& way,
                                     const ouroboros::judge::Case& one);

}  // namespace tolerance
