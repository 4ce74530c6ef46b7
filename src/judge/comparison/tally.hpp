#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

/// Counting errors: what a comparison of two tensors boils down to.
namespace ouroboros::judge {

struct Tally {
  std::int64_t wrong = 0;
  std::int64_t worst = -1;  ///< Position of the worst wrong element.
  double worst_ratio = 0.0;
  double error = 0.0;  ///< The largest finite one, absolute.
  double reference_error = 0.0;
};

/// Compares `output` with `truth`, which is float64 or int64, and notes what the reference `made`.
/// All are contiguous and of one shape, and on one device, where the work is done.
[[nodiscard]] Tally tally_errors(const at::Tensor& output, const at::Tensor& made,
                                 const at::Tensor& truth, const at::Tensor& allowed);

/// The same by LibTorch's operators, which is what tensors on another device need.
[[nodiscard]] Tally tally_by_operators(const at::Tensor& output, const at::Tensor& made,
                                       const at::Tensor& truth, const at::Tensor& allowed);

}  // namespace ouroboros::judge
