#pragma once

#include <string_view>

#include "judge/judge.hpp"

/// What a case and a look at a reference have in common.
namespace ouroboros::judge {

/// Draws every input of a case; real values are divided by 2^`shrink`.
[[nodiscard]] Tensors draw(const Problem& problem, const CaseSpec& spec, int shrink,
                           at::Device where = at::kCPU);

/// Runs the reference on copies of `inputs`. Its outputs are contiguous and of supported dtypes.
/// Throws `ReferenceFault` when it raises, writes to its inputs or returns anything else.
[[nodiscard]] Tensors run_reference(const Problem& problem, const CaseSpec& spec,
                                    const Tensors& inputs);

/// Whether an exception of LibTorch's or of Python's came of a want of memory: it says so, or there
/// is none now.
[[nodiscard]] bool is_want_of_memory(std::string_view message);

}  // namespace ouroboros::judge
