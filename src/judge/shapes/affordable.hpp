#pragma once

#include <cstdint>
#include <vector>

#include "judge/judge.hpp"
#include "judge/shapes/growth.hpp"

namespace ouroboros::judge {

/// Elements of inputs and of the largest result, over all cases of a sweep. They take 3 GiB, and a
/// minute or more.
inline constexpr double most_swept = 1 << 28;

/// Of each dtype, however large they are.
inline constexpr std::size_t least_swept = 4;

/// All cases, where together they are not too large, which those of fixed extents may be. Else the
/// largest that are ordinary, of all families at once and ordinary but for a few numbers; and as
/// many others as there is room for. Which, the seed decides: nobody is to know what is left out.
[[nodiscard]] std::vector<CaseSpec> affordable(const Problem& problem, const Growth& growth,
                                               std::vector<CaseSpec> specs, std::uint64_t seed);

}  // namespace ouroboros::judge
