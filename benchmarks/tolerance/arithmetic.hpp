#pragma once

#include <ATen/core/Tensor.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

/// How an implementation computes: the order of its sums, its elementary functions, what it rounds.
namespace tolerance {

enum class Sum { sequential, blocked, pairwise };
enum class Narrow { none, bfloat16, float16, float32 };

/// One way to implement a problem. `mutant` names a mistake that a kernel looks for; empty: none.
struct Way {
  std::string name;
  bool honest = true;
  std::string mutant;
  Sum sum = Sum::sequential;
  bool fast = false;                   ///< Approximate exp and rsqrt, reciprocals for divisions.
  bool half = false;                   ///< The case is in float16.
  bool wide = false;                   ///< Computes in float64 whatever the dtype.
  Narrow accumulator = Narrow::none;   ///< What sums are rounded to after every addition.
  Narrow intermediate = Narrow::none;  ///< What other intermediate results are rounded to.
};

template <typename C>
C narrowed(C value, Narrow to) {
  switch (to) {
    case Narrow::bfloat16: {
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
      if (!std::isfinite(value)) return value;
      return static_cast<C>(
          std::bit_cast<float>((bits + 0x7fffU + ((bits >> 16) & 1U)) & 0xffff0000U));
    }
    case Narrow::float16:
      return static_cast<C>(static_cast<float>(at::Half(static_cast<float>(value))));
    case Narrow::float32:
      return static_cast<C>(static_cast<float>(value));
    case Narrow::none:
      break;
  }
  return value;
}

/// Elementary operations in the compute type `C`, done the way that `way` says.
template <typename C>
class Arithmetic {
 public:
  explicit Arithmetic(const Way& way) : way_(way) {}

  [[nodiscard]] bool is(const char* mutant) const { return way_.mutant == mutant; }
  /// What the mutant "cut_tail" takes for zero: visible in the dtype, negligible to the eye.
  [[nodiscard]] C cut() const { return static_cast<C>(way_.half ? 1e-5 : 1e-7); }
  [[nodiscard]] bool fast() const { return way_.fast; }
  [[nodiscard]] Sum order() const { return way_.sum; }

  [[nodiscard]] C round(C value) const { return narrowed(value, way_.intermediate); }
  [[nodiscard]] C add(C a, C b) const { return narrowed(a + b, way_.accumulator); }

  [[nodiscard]] C sum(const std::vector<C>& values) const {
    const auto n = values.size();
    if (way_.sum == Sum::pairwise) return pairwise(values.data(), n);
    if (way_.sum == Sum::blocked) {
      // Sixteen lanes, as a vectorised loop has them, added up at the end.
      C lanes[16] = {};
      for (std::size_t i = 0; i < n; ++i) lanes[i % 16] = add(lanes[i % 16], values[i]);
      return pairwise(lanes, 16);
    }
    C total = 0;
    for (const C value : values) total = add(total, value);
    return total;
  }

  [[nodiscard]] C exp(C x) const {
    // What graphics processors and vector libraries do: one rounded product, then a power of two.
    return round(way_.fast ? std::exp2(x * static_cast<C>(1.4426950408889634)) : std::exp(x));
  }
  [[nodiscard]] C divide(C a, C b) const { return round(way_.fast ? a * (C(1) / b) : a / b); }
  [[nodiscard]] C rsqrt(C x) const {
    const C exact = C(1) / std::sqrt(x);
    if (!way_.fast) return round(exact);
    // A refined table look-up: wrong by about four units in the last place, then a Newton step.
    const C guess = exact * (C(1) + C(sizeof(C) == 4 ? 0x1p-12 : 0x1p-27));
    return guess * (C(1.5) - C(0.5) * x * guess * guess);
  }
  [[nodiscard]] C sigmoid(C x) const { return divide(C(1), C(1) + exp(-x)); }
  [[nodiscard]] C silu(C x) const { return round(x * sigmoid(x)); }
  [[nodiscard]] C gelu(C x) const {
    if (is("silu_for_gelu")) return silu(x);
    if (is("quick_gelu")) return x * sigmoid(C(1.702) * x);
    if (is("erf_for_tanh_gelu")) return C(0.5) * x * (C(1) + std::erf(x * C(0.7071067811865476)));
    if (is("relu_for_gelu")) return x > 0 ? x : C(0);
    if (is("gelu_constant")) return tanh_gelu(x, C(0.044));
    return tanh_gelu(x, C(0.044715));
  }

 private:
  [[nodiscard]] C tanh_gelu(C x, C cubic) const {
    const C inner = C(0.7978845608028654) * (x + cubic * x * x * x);
    if (way_.fast) return round(x * sigmoid(C(2) * inner));
    return round(C(0.5) * x * (C(1) + round(std::tanh(inner))));
  }

  [[nodiscard]] C pairwise(const C* values, std::size_t n) const {
    if (n <= 8) {
      C total = 0;
      for (std::size_t i = 0; i < n; ++i) total = add(total, values[i]);
      return total;
    }
    return add(pairwise(values, n / 2), pairwise(values + n / 2, n - n / 2));
  }

  const Way& way_;
};

}  // namespace tolerance
