#include "judge/tolerance/binades.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "judge/base/tensors.hpp"

namespace ouroboros::judge {
namespace {

// Maxima are gathered in so many tables side by side: one table would have all threads of a GPU
// wait for the few binades that nearly all elements fall into.
constexpr std::int64_t most_lanes = 1024;

/// The kinds of errors, each with where a binade has it.
struct Kind {
  at::Tensor Errors::* of;
  double Binade::* to;
};
constexpr Kind kinds[] = {{&Errors::reference, &Binade::error},
                          {&Errors::again, &Binade::error},
                          {&Errors::single, &Binade::single},
                          {&Errors::loops, &Binade::loops},
                          {&Errors::moved, &Binade::moved}};

}  // namespace

int binade_of(double value) noexcept {
  return static_cast<int>((std::bit_cast<std::uint64_t>(value) >> 52) & 0x7ff);
}

at::Tensor binade_indices(const at::Tensor& oracle) {
  return oracle.view(at::kLong).bitwise_right_shift(at::Scalar(52)).bitwise_and_(at::Scalar(0x7ff));
}

Binades measure(const at::Tensor& oracle, const Errors& errors) {
  if (!oracle.is_cpu()) return measure_by_operators(oracle, errors);
  Binades found;
  const auto* truth = oracle.const_data_ptr<double>();
  const auto count = oracle.numel();
  const auto at = [&](std::int64_t i) -> Binade& {
    return found.each[static_cast<std::size_t>(binade_of(truth[i]))];
  };
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(truth[i])) continue;
    found.largest = std::max(found.largest, std::fabs(truth[i]));
    ++at(i).count;
  }
  for (const auto& kind : kinds) {
    if (!(errors.*kind.of).defined()) continue;
    const auto* error = (errors.*kind.of).const_data_ptr<double>();
    for (std::int64_t i = 0; i < count; ++i) {
      auto& largest = at(i).*kind.to;
      if (std::isfinite(truth[i])) largest = std::max(largest, error[i]);
    }
  }
  return found;
}

Binades measure_by_operators(const at::Tensor& oracle, const Errors& errors) {
  Binades found;
  const auto count = oracle.numel();
  const auto lanes = std::clamp<std::int64_t>(count / binades, 1, most_lanes);
  const auto options = oracle.options();
  constexpr auto rows = static_cast<std::int64_t>(std::size(kinds)) + 2;
  // Counts, sizes of the true values, and errors: all come to the host at once.
  auto table = at::zeros({rows, lanes * binades}, options);
  for (std::int64_t first = 0; first < count; first += elements_at_once) {
    const auto some = std::min(elements_at_once, count - first);
    const auto part = [&](const at::Tensor& all) { return all.view(-1).narrow(0, first, some); };
    const auto truth = part(oracle);
    const auto finite = at::isfinite(truth);
    const auto lane = at::arange(some, options.dtype(at::kLong)).remainder_(lanes);
    const auto place = binade_indices(truth).add_(lane.mul_(binades));
    table[0].scatter_add_(0, place, finite.to(at::kDouble));
    std::int64_t row = 1;
    const auto gather = [&](const at::Tensor& values) {
      const auto counted = finite.logical_and(values.isnan().logical_not_());
      table[row].scatter_reduce_(0, place, values.masked_fill(counted.logical_not(), 0.0), "amax");
    };
    gather(truth.abs());
    for (const auto& kind : kinds) {
      ++row;
      if ((errors.*kind.of).defined()) gather(part(errors.*kind.of));
    }
  }
  const auto by_lane = table.view({rows, lanes, binades});
  const auto tables =
      at::cat({by_lane.narrow(0, 0, 1).sum(1), by_lane.narrow(0, 1, rows - 1).amax(1)}, 0)
          .to(at::kCPU);
  const auto* values = tables.const_data_ptr<double>();
  for (std::size_t b = 0; b < found.each.size(); ++b) {
    auto& binade = found.each[b];
    const auto* row = values + b;
    binade.count = static_cast<std::int64_t>(*row);
    row += binades;
    found.largest = std::max(found.largest, *row);
    for (const auto& kind : kinds) {
      row += binades;
      binade.*kind.to = std::max(binade.*kind.to, *row);
    }
  }
  return found;
}

}  // namespace ouroboros::judge
