#pragma once

#include "judge/judge.hpp"

/// The two steps that a case and a look at a reference have in common.
namespace ouroboros::judge {

/// Draws every input of a case; real values are divided by 2^`shrink`.
[[nodiscard]] Tensors draw(const Problem& problem, const CaseSpec& spec, int shrink,
                           at::Device where = at::kCPU);

/// Runs the reference on copies of `inputs`. Its outputs are contiguous and of supported dtypes.
/// Throws `ReferenceFault` when it raises, writes to its inputs or returns anything else.
[[nodiscard]] Tensors run_reference(const Problem& problem, const CaseSpec& spec,
                                    const Tensors& inputs);

}  // namespace ouroboros::judge
