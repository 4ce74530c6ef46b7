#include "judge/tolerance.hpp"

#include <ATen/ops/isfinite.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "judge/binades.hpp"
#include "judge/tensors.hpp"

namespace ouroboros::judge {
namespace {

// Factors; those that stand for sums in another order also grow as the root of the longest extent.
constexpr double error_factor = 2.0;   ///< Of the reference's own error.
constexpr double single_factor = 4.0;  ///< Of its error in float32; grows.
constexpr double loop_factor = 8.0;    ///< Of its error in float32 with plain loops.
constexpr double conditioning_factor =
    32.0;                              ///< Of the effect of one rounding of the inputs; grows.
constexpr double oracle_factor = 8.0;  ///< Of one rounding of the largest value in float64;
                                       ///< grows for problems in float64.
constexpr std::int64_t group_elements = 64;  ///< A group of binades has at least so many elements.

/// Precision of what computes: problems in 16 and 8 bits are computed in float32 by anyone
/// sensible.
double roundoff_of(DType compute) noexcept { return compute == DType::float64 ? 0x1p-53 : 0x1p-24; }

/// Floor of the allowed error, relative to the true value.
double relative_floor_of(DType output) noexcept {
  switch (output) {
    case DType::float64:
      return 0x1p-42;
    case DType::float32:
      return 0x1p-18;
    default:
      return 0.5 * format_of(output).epsilon;
  }
}

/// Distance of neighbouring numbers of a format at a binade of float64.
double ulp_at(int binade, const Format& format) noexcept {
  const int exponent = std::max(binade - 1023, format.lowest_exponent);
  return std::ldexp(format.epsilon, exponent);
}

}  // namespace

double smallest_of(DType output, DType compute) noexcept {
  const double steps = output == compute && size_of(output) >= 4 ? 64.0 : 4.0;
  return steps * ulp_at(0, format_of(output));
}

int perturbations_for(std::int64_t elements) noexcept { return elements <= 65536 ? 8 : 2; }

Tolerance Tolerance::learn(const Evidence& evidence) {
  Tolerance rule;
  rule.absolute_.resize(binades);
  const auto output = *dtype_of(evidence.reference.scalar_type());
  if (!is_floating(output)) return rule;

  const auto found = measure(evidence);
  const auto format = format_of(output);
  rule.relative_ = relative_floor_of(output);
  const double growth = std::sqrt(static_cast<double>(std::max<std::int64_t>(1, evidence.longest)));
  const double conditioning =
      conditioning_factor * growth * roundoff_of(evidence.compute) / perturbation;
  const double of_oracle =
      oracle_factor * (evidence.compute == DType::float64 ? growth : 1.0) * 0x1p-53 * found.largest;
  const double smallest =
      std::max(evidence.gain * smallest_of(output, evidence.compute), of_oracle);
  for (int first = 0; first < binades;) {
    // A group: neighbouring binades with enough elements for a maximum to mean something.
    Binade group;
    int last = first;
    for (int b = first; b < binades; ++b) {
      const auto& binade = found.each[static_cast<std::size_t>(b)];
      group.count += binade.count;
      group.error = std::max(group.error, binade.error);
      group.single = std::max(group.single, binade.single);
      group.loops = std::max(group.loops, binade.loops);
      group.moved = std::max(group.moved, binade.moved);
      last = b;
      if (group.count >= group_elements) break;
    }
    const double computing = std::max({single_factor * growth * group.single,
                                       loop_factor * group.loops, conditioning * group.moved});
    for (int b = first; b <= last; ++b) {
      // Whoever computes as well as can be asked still rounds the result.
      const double ulp = ulp_at(b, format);
      rule.absolute_[static_cast<std::size_t>(b)] =
          std::max({error_factor * group.error, computing + 0.5 * ulp, ulp, smallest});
    }
    first = last + 1;
  }
  return rule;
}

at::Tensor Tolerance::allowed(const at::Tensor& oracle) const {
  if (!oracle.is_cpu()) return allowed_by_operators(oracle);
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

at::Tensor Tolerance::allowed_by_operators(const at::Tensor& oracle) const {
  if (oracle.scalar_type() != at::kDouble) {
    return at::zeros(oracle.sizes(), oracle.options().dtype(at::kDouble));
  }
  auto table = empty({binades}, at::kDouble);
  std::copy(absolute_.begin(), absolute_.end(), table.mutable_data_ptr<double>());
  const auto absolute = table.to(oracle.device()).take(binade_indices(oracle));
  auto limits = at::maximum(absolute, oracle.abs().mul_(relative_));
  return limits.masked_fill_(at::isfinite(oracle).logical_not_(), 0.0);
}

}  // namespace ouroboros::judge
