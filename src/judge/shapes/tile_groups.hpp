#pragma once

#include <cstdint>
#include <vector>

#include "judge/judge.hpp"
#include "judge/shapes/landmarks.hpp"

namespace ouroboros::judge {

/// Products of matrices are made tile by tile, and of their rows of tiles so many at a time that
/// what they share stays in the cache (`GROUP_SIZE_M` in Triton's tutorial). Who forgets that the
/// last group may have fewer rows leaves tiles out. This takes many rows of tiles, not a multiple
/// of a group, beside two columns: one shape for either axis, in which that is so for as many tiles
/// and groups as a source's numbers may mean. None where no two inputs have an axis of their own.
[[nodiscard]] std::vector<AxisValues> tile_group_shapes(const Problem& problem,
                                                        const Landmarks& landmarks,
                                                        std::uint64_t key);

}  // namespace ouroboros::judge
