#include "judge/tolerance/binades.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "judge/base/tensors.hpp"

namespace ouroboros::judge {
namespace {

// Maxima are gathered in so many tables side by side: one table would have all threads of a GPU
// wait for the few binades that nearly all elements fall into.
constexpr std::int64_t most_lanes = 1024;

/// Visits each finite true value with what `made` has in its place.
template <typename Visitor>
void each_finite(const at::Tensor& oracle, const at::Tensor& made, Visitor&& visit) {
  const auto* truth = oracle.const_data_ptr<double>();
  const auto count = oracle.numel();
  with_type(*dtype_of(made.scalar_type()), [&]<typename T>(T*) {
    const auto* values = static_cast<const T*>(made.const_data_ptr());
    for (std::int64_t i = 0; i < count; ++i) {
      if (std::isfinite(truth[i])) visit(truth[i], static_cast<double>(values[i]));
    }
  });
}

/// The largest distance of `made` from the finite true values, by binade. Without `infinite`,
/// elements that are not finite are left out; NaN always is.
std::vector<double> largest_distances(const at::Tensor& oracle, const at::Tensor& made,
                                      bool infinite) {
  const auto flat_truth = oracle.view(-1);
  const auto flat_made = made.view(-1);
  const auto count = flat_truth.numel();
  const auto lanes = std::clamp<std::int64_t>(count / binades, 1, most_lanes);
  const auto options = at::TensorOptions().device(oracle.device());
  auto table = at::zeros({lanes * binades}, options.dtype(at::kDouble));
  for (std::int64_t first = 0; first < count; first += elements_at_once) {
    const auto some = std::min(elements_at_once, count - first);
    const auto truth = flat_truth.narrow(0, first, some);
    auto distance = (flat_made.narrow(0, first, some).to(at::kDouble) - truth).abs_();
    auto counted = at::isfinite(truth);
    counted.logical_and_(infinite ? distance.isnan().logical_not_() : at::isfinite(distance));
    distance.masked_fill_(counted.logical_not_(), 0.0);
    const auto lane = at::arange(some, options.dtype(at::kLong)).remainder_(lanes);
    table.scatter_reduce_(0, binade_indices(truth).add_(lane.mul_(binades)), distance, "amax");
  }
  const auto maxima = table.view({lanes, binades}).amax(0).to(at::kCPU);
  const auto* values = maxima.const_data_ptr<double>();
  return {values, values + binades};
}

}  // namespace

int binade_of(double value) noexcept {
  return static_cast<int>((std::bit_cast<std::uint64_t>(value) >> 52) & 0x7ff);
}

at::Tensor binade_indices(const at::Tensor& oracle) {
  return oracle.view(at::kLong).bitwise_right_shift(at::Scalar(52)).bitwise_and_(at::Scalar(0x7ff));
}

Binades measure(const Evidence& evidence) {
  if (!evidence.oracle.is_cpu()) return measure_by_operators(evidence);
  Binades found;
  const auto at = [&](double truth) -> Binade& {
    return found.each[static_cast<std::size_t>(binade_of(truth))];
  };
  each_finite(evidence.oracle, evidence.reference, [&](double truth, double made) {
    found.largest = std::max(found.largest, std::fabs(truth));
    auto& binade = at(truth);
    ++binade.count;
    binade.error = std::max(binade.error, std::fabs(made - truth));
  });
  const auto largest = [&](const Tensors& made, double Binade::* of) {
    for (const auto& tensor : made) {
      each_finite(evidence.oracle, tensor, [&](double truth, double value) {
        const double error = std::fabs(value - truth);
        if (std::isfinite(error)) at(truth).*of = std::max(at(truth).*of, error);
      });
    }
  };
  largest(evidence.again, &Binade::error);
  largest(evidence.single, &Binade::single);
  largest(evidence.loops, &Binade::loops);
  largest(evidence.moved, &Binade::moved);
  return found;
}

Binades measure_by_operators(const Evidence& evidence) {
  Binades found;
  if (evidence.oracle.numel() == 0) return found;
  const auto truth = evidence.oracle.view(-1);
  const auto finite = at::isfinite(truth);
  found.largest = at::where(finite, truth.abs(), at::Scalar(0.0)).max().item().toDouble();
  const auto counts =
      binade_indices(truth.masked_select(finite)).bincount({}, binades).to(at::kCPU);
  const auto errors = largest_distances(evidence.oracle, evidence.reference, true);
  for (int b = 0; b < binades; ++b) {
    const auto index = static_cast<std::size_t>(b);
    found.each[index].count = counts.const_data_ptr<std::int64_t>()[b];
    found.each[index].error = errors[index];
  }
  const auto largest = [&](const Tensors& made, double Binade::* of) {
    for (const auto& tensor : made) {
      const auto errors_of_it = largest_distances(evidence.oracle, tensor, false);
      for (std::size_t b = 0; b < errors_of_it.size(); ++b) {
        found.each[b].*of = std::max(found.each[b].*of, errors_of_it[b]);
      }
    }
  };
  largest(evidence.again, &Binade::error);
  largest(evidence.single, &Binade::single);
  largest(evidence.loops, &Binade::loops);
  largest(evidence.moved, &Binade::moved);
  return found;
}

}  // namespace ouroboros::judge
