#include "judge/values/exponents.hpp"

#include <algorithm>

namespace ouroboros::judge {

Exponents exponents_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::float16:
      return {-17, -8, -13, 7, 7, 13, 15, 0, -10, 4, 8, -6};
    case DType::bfloat16:
      return {-131, -10, -60, 4, 14, 16, 16, 5, -20, 8, 8, -4};
    case DType::float8_e4m3fn:
      return {-8, -3, -5, 3, 7, 8, 7, 0, -6, 4, 8, -2};
    case DType::float8_e5m2:
      return {-16, -6, -12, 2, 7, 14, 14, 0, -12, 8, 8, -1};
    case DType::float64:
      return {-1027, -10, -500, 11, 14, 16, 16, 5, -20, 8, 8, -48};
    case DType::float32:
      return {-131, -10, -60, 11, 14, 16, 16, 5, -20, 8, 8, -19};
    default:
      return {-131, -10, -60, 11, 14, 16, 16, 0, -20, 8, 8, -19};
  }
}

Exponents of_scores(Exponents power) noexcept {
  power.mean = std::min(power.mean, 6);
  power.overflow = std::min(power.overflow, 8);
  power.tallest = power.overflow;
  power.depth = power.mean;
  power.deeper = 0;
  power.mixed_high = std::min(power.mixed_high, 6);
  power.white = 6;
  return power;
}

}  // namespace ouroboros::judge
