#pragma once

#include "ouroboros/dtype.hpp"

namespace ouroboros::judge {

/// Powers of two that put a family where it belongs in each dtype.
struct Exponents {
  int denormal;
  int tiny;
  int tiniest;  ///< Its square is a normal number where one computes.
  int mean;
  int overflow;  ///< Its exponential is infinite where one computes.
  int tallest;
  int depth;   ///< Rows below its negative, or above it, are beyond what masks and extrema begin
               ///< with.
  int deeper;  ///< Every other row is so much further: maxima begin at -1e5 and -1e6, too.
  int mixed_low;
  int mixed_high;
  int white;  ///< Bytes are all smaller than it.
  int near;   ///< From 3 to a number that few bits tell from it: eight steps, of short ones fewer.
};

[[nodiscard]] Exponents exponents_of(DType dtype) noexcept;

/// Of numbers that become scores, where a family's largest one may meet another input's.
inline constexpr double largest_to_score = 0x1p10;

/// Those of numbers that become scores. Of two such, added up over a head and scaled as an
/// attention's, little is above 2^16, where float32 still tells hundredths apart: who puts parts
/// together by logarithms of their sums keeps these.
[[nodiscard]] Exponents of_scores(Exponents power) noexcept;

}  // namespace ouroboros::judge
