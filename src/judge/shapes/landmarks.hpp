#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "judge/judge.hpp"

namespace ouroboros::judge {

/// The whole numbers of a source that an extent can be near: blocks, windows, and where paths of
/// its own begin and end, as a fuzzer's dictionary has them. Each list is ascending, and no number
/// is in two. What a number means is not asked, and one that is hidden in arithmetic is not found:
/// other shapes are drawn by chance as ever.
struct Landmarks {
  std::vector<std::int64_t> ordered;  ///< Next to <, <=, > or >=.
  std::vector<std::int64_t> equal;    ///< Next to == or !=.
  std::vector<std::int64_t> others;
};

/// Those of a C++, CUDA, PTX or Python source, up to 1024 of a kind. Products, shifts and powers of
/// literals count by their value, and what something is shifted right by as the power of two.
/// `marks`: those that the reference compares with, as ordered ones.
[[nodiscard]] OUROBOROS_API Landmarks landmarks_of(std::string_view source,
                                                   const std::vector<std::int64_t>& marks = {});

/// Three cases for each axis and dtype, and six of a dtype at least, where there are landmarks:
/// extents inside the intervals that ordered ones begin and at equal ones, then at and next to
/// both, then near others. Axes in turn are served first where not all can have one, since inputs
/// would get too large. Then up to two with just more elements than some number that is compared,
/// or some other, where there are several axes, and those of `tile_group_shapes`; where there are
/// three axes and more, one in which two of them alone have more than such a number. Numbers that
/// are compared are the cases' marks. The first is case number `first_id`.
[[nodiscard]] OUROBOROS_API std::vector<CaseSpec> landmark_cases(const Problem& problem,
                                                                 const std::vector<DType>& dtypes,
                                                                 std::uint64_t seed,
                                                                 const Landmarks& landmarks,
                                                                 int first_id);

}  // namespace ouroboros::judge
