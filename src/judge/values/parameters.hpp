#pragma once

#include <cstddef>
#include <vector>

#include "judge/judge.hpp"

/// Numbers of inputs that are no data: weights, and angles.
namespace ouroboros::judge {

/// Cosines and sines: from -1 to 1.
void fill_angles(const CaseSpec& spec, std::size_t input, std::size_t cols,
                 std::vector<double>& out);

/// Weights of any family.
void fill_parameter(const Problem& problem, const CaseSpec& spec, std::size_t input,
                    std::vector<double>& out);

}  // namespace ouroboros::judge
