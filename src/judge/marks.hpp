#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "judge/judge.hpp"

namespace ouroboros::judge {

/// The whole numbers that a reference compares integers with, cuts them off at or leaves out as an
/// `ignore_index`, ascending. Drawn by chance alone they would hardly be met. Empty where no input
/// is of integers, and where the reference cannot be run.
[[nodiscard]] OUROBOROS_API std::vector<std::int64_t> marks_of(const Problem& problem, DType dtype);

/// Those of an operator whose arguments end `stack`.
void note_marks(std::string_view name, const c10::FunctionSchema& schema,
                const torch::jit::Stack& stack, std::set<std::int64_t>& marks);

}  // namespace ouroboros::judge
