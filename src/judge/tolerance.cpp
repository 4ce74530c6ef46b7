#include "judge/tolerance.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "judge/tensors.hpp"

namespace ouroboros::judge {
namespace {

constexpr double error_factor = 2.0;          ///< Times the reference's own error.
constexpr double conditioning_factor = 16.0;  ///< Times the effect of one rounding of the inputs.
constexpr std::int64_t group_elements = 64;   ///< A group of binades has at least so many elements,
constexpr int group_span = 4;                 ///< unless it would span more binades than this.

int binade_of(double value) noexcept {
  return static_cast<int>((std::bit_cast<std::uint64_t>(value) >> 52) & 0x7ff);
}

/// Precision of what computes: float16 problems are computed in float32 by anyone sensible.
double roundoff_of(DType compute) noexcept {
  return compute == DType::float64 ? 0x1p-53 : 0x1p-24;
}

struct Format {
  int mantissa_bits;
  int lowest_exponent;  ///< Of a normal number.
  double relative;      ///< Floor of the allowed error, relative to the true value.
};

Format format_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::float16:
      return {10, -14, 0x1p-11};
    case DType::float64:
      return {52, -1022, 0x1p-42};
    default:
      return {23, -126, 0x1p-16};
  }
}

/// Distance of neighbouring numbers of a format at a binade of float64.
double ulp_at(int binade, const Format& format) noexcept {
  const int exponent = std::max(binade - 1023, format.lowest_exponent);
  return std::ldexp(1.0, exponent - format.mantissa_bits);
}

struct Binade {
  std::int64_t count = 0;
  double error = 0.0;
  double moved = 0.0;
};

}  // namespace

int perturbations_for(std::int64_t elements) noexcept {
  return elements <= 4096 ? 8 : elements <= 1 << 18 ? 2 : 1;
}

Tolerance Tolerance::learn(DType compute, const at::Tensor& reference, const at::Tensor& oracle,
                           const Tensors& moved) {
  Tolerance rule;
  const auto output = dtype_of(reference.scalar_type()).value_or(DType::float64);
  if (!is_floating(output)) return rule;

  std::vector<Binade> found(binades);
  const auto* truth = oracle.const_data_ptr<double>();
  const auto count = oracle.numel();
  with_type(output, [&]<typename T>(T*) {
    const auto* made = static_cast<const T*>(reference.const_data_ptr());
    for (std::int64_t i = 0; i < count; ++i) {
      if (!std::isfinite(truth[i])) continue;
      auto& binade = found[static_cast<std::size_t>(binade_of(truth[i]))];
      ++binade.count;
      binade.error = std::max(binade.error, std::fabs(static_cast<double>(made[i]) - truth[i]));
    }
  });
  for (const auto& tensor : moved) {
    const auto* other = tensor.const_data_ptr<double>();
    for (std::int64_t i = 0; i < count; ++i) {
      const double change = std::fabs(other[i] - truth[i]);
      if (!std::isfinite(change)) continue;
      auto& binade = found[static_cast<std::size_t>(binade_of(truth[i]))];
      binade.moved = std::max(binade.moved, change);
    }
  }

  const auto format = format_of(output);
  rule.relative_ = format.relative;
  const double conditioning = conditioning_factor * roundoff_of(compute) / perturbation;
  const double smallest = compute == DType::float16 ? 0.0 : 4.0 * ulp_at(0, format_of(compute));
  for (int first = 0; first < binades;) {
    // A group: neighbouring binades with enough elements for a maximum to mean something.
    Binade group;
    int last = first;
    for (int b = first; b < binades && b < first + group_span; ++b) {
      const auto& binade = found[static_cast<std::size_t>(b)];
      group.count += binade.count;
      group.error = std::max(group.error, binade.error);
      group.moved = std::max(group.moved, binade.moved);
      last = b;
      if (group.count >= group_elements) break;
    }
    for (int b = first; b <= last; ++b) {
      rule.absolute_[static_cast<std::size_t>(b)] =
          std::max({error_factor * group.error, conditioning * group.moved, ulp_at(b, format),
                    smallest});
    }
    first = last + 1;
  }
  return rule;
}

at::Tensor Tolerance::allowed(const at::Tensor& oracle) const {
  auto out = empty(oracle.sizes().vec(), at::kDouble);
  auto* limits = out.mutable_data_ptr<double>();
  if (oracle.scalar_type() != at::kDouble) {
    std::fill_n(limits, oracle.numel(), 0.0);
    return out;
  }
  const auto* truth = oracle.const_data_ptr<double>();
  for (std::int64_t i = 0; i < oracle.numel(); ++i) {
    const auto binade = static_cast<std::size_t>(binade_of(truth[i]));
    const double limit = std::max(absolute_[binade], relative_ * std::fabs(truth[i]));
    limits[i] = std::isfinite(truth[i]) ? limit : 0.0;
  }
  return out;
}

}  // namespace ouroboros::judge
