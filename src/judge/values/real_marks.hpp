#pragma once

#include <cstddef>
#include <vector>

#include "judge/judge.hpp"

namespace ouroboros::judge {

/// The numbers of a dtype that show how a reference treats a mark: the mark itself and those next
/// to it, and others beyond what an input has anyway.
[[nodiscard]] OUROBOROS_API std::vector<double> numbers_at(const RealMark& mark, DType dtype,
                                                           const Input& of);

/// Puts such numbers into input number `input` of these, whose rows have `cols`, as far as it takes
/// them. Numbers that were `shrunk`, since a result left its range, get none that is larger than
/// they are.
void fill_real_marks(const std::vector<Input>& inputs, const CaseSpec& spec, std::size_t input,
                     DType dtype, std::size_t cols, bool shrunk, std::vector<double>& out);

}  // namespace ouroboros::judge
