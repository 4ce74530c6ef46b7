#pragma once

#include <string>

#include "ouroboros/problem.hpp"

namespace ouroboros::judge {

/// What an input, an output or an axis is called in C++: as in the problem, but for what C++ has
/// for itself, which gets an underscore (`do_`, for the gradient of an attention's output), or
/// several, where the problem has that name too.
std::string parameter_name(const Problem& problem, const std::string& name);

}  // namespace ouroboros::judge
