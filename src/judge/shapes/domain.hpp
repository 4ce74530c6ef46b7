#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ouroboros/problem.hpp"

namespace ouroboros::judge {

/// The axes of a problem with the extents that its reference takes, which may be fewer than they
/// say: a window wants so many elements, groups want a multiple. The reference is asked, at the
/// first timed cell with one axis changed at a time. Empty where it takes as many as they say, or
/// nothing can be learnt.
[[nodiscard]] std::optional<std::vector<Axis>> narrowed_axes(const Problem& problem, DType dtype);

/// What is narrower in `axes` than in the problem: "c is a multiple of 4, l at least 3".
[[nodiscard]] std::string describe_narrowed(const Problem& problem, const std::vector<Axis>& axes);

}  // namespace ouroboros::judge
