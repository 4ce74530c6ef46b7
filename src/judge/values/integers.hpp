#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "judge/judge.hpp"
#include "judge/values/layout.hpp"

/// Integers of inputs that are values, not positions.
namespace ouroboros::judge {

/// Puts what somebody's code asks for, or what is next to it, in one place of eight, where it lies
/// in [least, end).
void fill_marks(const CaseSpec& spec, std::size_t input, std::int64_t least, std::int64_t end,
                std::vector<std::int64_t>& out);

/// Of int32 and int64 those that are mixed have all sizes that the dtype has, and some are
/// neighbours.
[[nodiscard]] std::vector<std::int64_t> whole_values(const Problem& problem, const CaseSpec& spec,
                                                     std::size_t input, DType dtype,
                                                     const Layout& layout, std::size_t count);

}  // namespace ouroboros::judge
