#pragma once

#include <cstdint>
#include <vector>

#include "judge/tolerance/tolerance.hpp"

/// The largest errors of a case among elements of one magnitude.
namespace ouroboros::judge {

inline constexpr int binades = 2048;  ///< One for each exponent of a float64.

struct Binade {
  std::int64_t count = 0;  ///< Of finite true values.
  double error = 0.0;      ///< Of the reference.
  double single = 0.0;     ///< Of the reference in float32.
  double loops = 0.0;      ///< Of that with plain loops for its sums.
  double moved = 0.0;      ///< The effect of moving the inputs.
};

struct Binades {
  std::vector<Binade> each = std::vector<Binade>(binades);
  double largest = 0.0;  ///< True value.
};

/// What errors there are, by the binade of the true value, in float64. NaN is none. Runs where the
/// tensors are.
[[nodiscard]] Binades measure(const at::Tensor& oracle, const Errors& errors);

/// The same by LibTorch's operators, which is what tensors on another device need.
[[nodiscard]] Binades measure_by_operators(const at::Tensor& oracle, const Errors& errors);

/// The binade of each element of a float64 tensor, as int64, where the tensor is.
[[nodiscard]] at::Tensor binade_indices(const at::Tensor& oracle);

/// The binade of a number.
[[nodiscard]] int binade_of(double value) noexcept;

}  // namespace ouroboros::judge
