#pragma once

#include <cstddef>
#include <cstdint>

#include "judge/judge.hpp"

namespace ouroboros::judge {

/// Makes one of four integers, at the same places of every input, one of three neighbours that
/// float32, and in 64 bits float64, takes for one number, and their like below zero. None of the
/// others is as large: the largest of a row is among them. In 64 bits half of these are one of
/// three that have their lower half in common instead.
void put_neighbour(const CaseSpec& spec, std::size_t input, DType dtype, std::size_t at,
                   std::int64_t& value);

}  // namespace ouroboros::judge
