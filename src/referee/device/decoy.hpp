#pragma once

#include <optional>
#include <vector>

#include "ouroboros/cuda_executor.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee::device {

/// Whether the candidate's own kernels are there for show: plans with a library's kernels are
/// replayed without the candidate's, and what is left is right in every case. `plans[i]` computes
/// `cases[i]`. Nothing where it does not, or where there is no library's kernel, or none of the
/// candidate's.
[[nodiscard]] std::optional<Finding> find_decoys(const Problem& problem,
                                                 const std::vector<judge::Case>& cases,
                                                 const std::vector<LaunchPlan>& plans,
                                                 CudaExecutor& executor, const Options& options);

}  // namespace ouroboros::referee::device
