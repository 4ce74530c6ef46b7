#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "judge/judge.hpp"

/// Integers of inputs that are positions: indices, lengths, offsets and permutations.
namespace ouroboros::judge {

/// They lie in [least, end).
struct Bounds {
  std::uint64_t least;
  std::uint64_t end;
};

/// Ordinary lengths are not zero, and others are not where the reference wants something of each.
[[nodiscard]] Bounds bounds_of(const Problem& problem, const CaseSpec& spec, std::size_t input);

/// Whether no two of its indices are the same.
[[nodiscard]] bool is_distinct(const CaseSpec& spec, std::size_t input);

[[nodiscard]] std::vector<std::int64_t> index_values(const Problem& problem, const CaseSpec& spec,
                                                     std::size_t input, std::size_t cols,
                                                     std::size_t count);

}  // namespace ouroboros::judge
