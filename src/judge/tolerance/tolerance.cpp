#include "judge/tolerance/tolerance.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/base/tensors.hpp"
#include "judge/tolerance/binades.hpp"

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
/// Of what an element's own evidence says: a few draws, of which none may be large.
constexpr double own_factor = 16.0;
constexpr std::size_t enough_moves = 8;  ///< To know an element among many by.
/// What an element is allowed by its own evidence, of its size, where that tells of all errors. Of
/// what is as good as zero, as a determinant of equal rows, inputs that move say too little.
constexpr double most_own = 0x1p-4;

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

/// What errors count, each kind by its own factor.
struct Factors {
  explicit Factors(const Evidence& evidence)
      : growth(std::sqrt(static_cast<double>(std::max<std::int64_t>(1, evidence.longest)))),
        single(single_factor * growth),
        moved(conditioning_factor * growth * roundoff_of(evidence.compute) / perturbation) {}

  double growth;
  double single;
  double moved;
};

/// What counts in a binade, but for moves of the inputs.
double errors_in(const Binade& binade, const Factors& factors) noexcept {
  if (binade.count == 0) return 0.0;
  return std::max(
      {error_factor * binade.error, factors.single * binade.single, loop_factor * binade.loops});
}

/// The smallest number of a binade, and of zeros and their like something that makes all errors
/// large.
double lowest_of(int binade) noexcept { return std::ldexp(1.0, std::max(binade, 1) - 1023); }

/// The largest finite distance of each element from the truth; 0 without any, and undefined where
/// nothing was made.
at::Tensor largest_error(const Tensors& made, const at::Tensor& oracle) {
  if (made.empty()) return {};
  auto largest = at::zeros_like(oracle);
  for (const auto& one : made) {
    const auto error = (one.to(at::kDouble) - oracle).abs_();
    at::maximum_out(largest, largest, error.nan_to_num_(0.0, 0.0, 0.0));
  }
  return largest;
}

/// Of each element what `table` has for its binade.
at::Tensor by_binade(const std::vector<double>& table, const at::Tensor& binade) {
  auto out = empty({binades}, at::kDouble);
  std::copy(table.begin(), table.end(), out.mutable_data_ptr<double>());
  return out.to(binade.device()).take(binade);
}

/// Distance of neighbouring numbers of a format at a binade of float64.
double ulp_at(int binade, const Format& format) noexcept {
  const int exponent = std::max(binade - 1023, format.lowest_exponent);
  return std::ldexp(format.epsilon, exponent);
}

}  // namespace

double roundoff_of(DType compute) noexcept { return compute == DType::float64 ? 0x1p-53 : 0x1p-24; }

double smallest_of(DType output, DType compute) noexcept {
  const double steps = output == compute && size_of(output) >= 4 ? 64.0 : 4.0;
  return steps * ulp_at(0, format_of(output));
}

int perturbations_for(std::int64_t elements) noexcept { return elements <= 65536 ? 8 : 2; }

Errors::Errors(const Evidence& evidence) {
  const auto& oracle = evidence.oracle;
  if (oracle.scalar_type() != at::kDouble) return;
  reference = (evidence.reference.to(at::kDouble) - oracle).abs_();
  again = largest_error(evidence.again, oracle);
  single = largest_error(evidence.single, oracle);
  loops = largest_error(evidence.loops, oracle);
  moved = largest_error(evidence.moved, oracle);
}

Tolerance Tolerance::learn(const Evidence& evidence, const Errors& errors) {
  Tolerance rule;
  rule.absolute_.resize(binades);
  rule.least_.resize(binades);
  rule.conditioned_.resize(binades);
  rule.errors_.resize(binades);
  const auto output = *dtype_of(evidence.reference.scalar_type());
  if (!is_floating(output)) return rule;

  const auto found = measure(evidence.oracle, errors);
  const auto format = format_of(output);
  rule.relative_ = relative_floor_of(output);
  const Factors factors(evidence);
  const double of_oracle = oracle_factor *
                           (evidence.compute == DType::float64 ? factors.growth : 1.0) * 0x1p-53 *
                           found.largest;
  const double smallest =
      std::max(evidence.gain * smallest_of(output, evidence.compute), of_oracle);
  for (int first = 0; first < binades;) {
    // A group: neighbouring binades with enough elements for a maximum to mean something.
    Binade group;
    double relative = 0.0;
    int last = first;
    for (int b = first; b < binades; ++b) {
      const auto& binade = found.each[static_cast<std::size_t>(b)];
      group.count += binade.count;
      group.error = std::max(group.error, binade.error);
      group.single = std::max(group.single, binade.single);
      group.loops = std::max(group.loops, binade.loops);
      group.moved = std::max(group.moved, binade.moved);
      relative = std::max(relative, errors_in(binade, factors) / lowest_of(b));
      last = b;
      if (group.count >= group_elements) break;
    }
    const double computing = std::max(
        {factors.single * group.single, loop_factor * group.loops, factors.moved * group.moved});
    for (int b = first; b <= last; ++b) {
      // Whoever computes as well as can be asked still rounds the result.
      const double ulp = ulp_at(b, format);
      const double least = std::max(ulp, smallest);
      const auto index = static_cast<std::size_t>(b);
      rule.least_[index] = least;
      rule.conditioned_[index] =
          std::max(computing, error_factor * group.error - ulp_at(last, format)) <=
          factors.moved * group.moved;
      rule.errors_[index] = relative;
      rule.absolute_[index] = std::max({error_factor * group.error, computing + 0.5 * ulp, least});
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

at::Tensor Tolerance::allowed(const Evidence& evidence, const Errors& errors) const {
  const auto& oracle = evidence.oracle;
  auto limits = allowed(oracle);
  if (oracle.scalar_type() != at::kDouble || oracle.numel() == 0) return limits;
  constexpr double unknown = std::numeric_limits<double>::infinity();
  const Factors factors(evidence);
  const auto binade = binade_indices(oracle);
  const auto size = oracle.abs();
  const auto few = binade.view(-1).bincount({}, binades).lt(group_elements).take(binade);
  // Where the reference leaves its range nothing is known.
  auto found = errors.reference.nan_to_num(unknown, unknown, unknown).mul_(error_factor);
  const auto add = [&](const at::Tensor& kind, double factor) {
    if (kind.defined()) at::maximum_out(found, found, kind * factor);
  };
  add(errors.again, error_factor);
  add(errors.single, factors.single);
  add(errors.loops, loop_factor);
  const auto of_group = at::where(few, by_binade(errors_, binade) * size, unknown);
  found = at::where(by_binade(conditioned_, binade).ne(0.0), found, of_group);
  add(errors.moved, factors.moved);
  auto own = found.mul_(own_factor);
  auto known = own.lt(size * most_own).logical_and_(at::isfinite(oracle));
  if (evidence.moved.size() < enough_moves) known.logical_and_(few);
  own = at::maximum(own, by_binade(least_, binade));
  own = at::maximum(own, size * relative_);
  return at::where(known, at::minimum(limits, own), limits);
}

at::Tensor Tolerance::allowed_by_operators(const at::Tensor& oracle) const {
  if (oracle.scalar_type() != at::kDouble) {
    return at::zeros(oracle.sizes(), oracle.options().dtype(at::kDouble));
  }
  const auto absolute = by_binade(absolute_, binade_indices(oracle));
  auto limits = at::maximum(absolute, oracle.abs().mul_(relative_));
  return limits.masked_fill_(at::isfinite(oracle).logical_not_(), 0.0);
}

}  // namespace ouroboros::judge
