#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ouroboros/problem.hpp"

/// Extents of shapes that nobody asked for: what a problem allows, and how large they may get.
namespace ouroboros::judge {

/// Of one input of a derived shape.
inline constexpr std::int64_t most_elements = 65536;

/// Of one input of the swept timed cell, and of others that would not be themselves if they were
/// cut.
inline constexpr std::int64_t most_timed_elements = 1 << 18;

/// The nearest legal value of an axis, not below one unless `wanted` is 0.
[[nodiscard]] std::int64_t legal(const Axis& axis, std::int64_t wanted);

/// The elements of the largest input that has a free axis, since no other may be smaller; the
/// largest number there is where that overflows.
[[nodiscard]] std::int64_t largest_input(const Problem& problem, const AxisValues& axes);

/// Halves the largest of the axes that `may` be, as far as that is legal. False where none is left.
[[nodiscard]] bool halve_widest(const Problem& problem, AxisValues& axes,
                                const std::function<bool(const Axis&)>& may);

/// Halves the largest axis until no input has more than `limit` elements, as far as that is legal.
[[nodiscard]] AxisValues fitted(const Problem& problem, AxisValues axes, std::int64_t limit);

/// Halves the leading axes, one after another, while an input that has them has more than `limit`
/// elements: which way a kernel goes is for the last ones to say.
[[nodiscard]] AxisValues shortened(const Problem& problem, AxisValues axes, std::int64_t limit);

/// The axes that have no fixed extent, in the order in which the inputs' shapes name them: the last
/// dimension's comes last, in whatever order they are declared.
[[nodiscard]] std::vector<const Axis*> free_axes(const Problem& problem);

}  // namespace ouroboros::judge
