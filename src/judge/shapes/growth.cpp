#include "judge/shapes/growth.hpp"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>
#include <utility>

#include "judge/base/declared.hpp"
#include "judge/judge.hpp"
#include "judge/runs/inside.hpp"
#include "judge/runs/promote.hpp"
#include "judge/shapes/extents.hpp"
#include "judge/values/families.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::judge {
namespace {

using Counts = std::vector<std::int64_t>;

/// Windows and pads, which add or take away some elements, are few beside it.
constexpr std::int64_t small = 16;

/// Elements of each result, in the order in which operators make them. Empty where the reference
/// takes no such extents.
std::optional<Counts> counts_of(const Problem& problem, DType dtype, const AxisValues& axes) {
  const CaseSpec spec{0, dtype, axes, "normal", 1};
  Counts counts;
  Inside inside;
  inside.results = &counts;
  try {
    const Declared declared(problem, dtype);
    // Results are as large in float32, in which more references run.
    static_cast<void>(promoted(problem.reference, draw(problem, spec, 0), at::kFloat, inside));
  } catch (const Error&) {
    throw;  // Of the library or of its bindings: cancelled, say.
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return counts;
}

/// What there is with one axis so many times as long.
struct Longer {
  double times = 1.0;
  Counts counts;
};

/// Twice as long, or half where the axis does not grow or the reference does not take that. Empty
/// where it takes neither.
std::optional<Longer> counts_along(const Problem& problem, DType dtype, const Axis& axis,
                                   const AxisValues& counted_at) {
  const auto extent = counted_at.at(axis.name);
  for (const auto wanted : {2 * extent, extent / 2}) {
    auto axes = counted_at;
    axes[axis.name] = legal(axis, std::max<std::int64_t>(1, wanted));
    const auto times = static_cast<double>(axes[axis.name]) / static_cast<double>(extent);
    if (times == 1.0) continue;
    if (auto counts = counts_of(problem, dtype, axes)) return Longer{times, *std::move(counts)};
  }
  return std::nullopt;
}

/// Of sums such as n + 2 or n - 2 the power is the one that it comes to where n is long.
double power(double from, double to, double times) {
  if (from == to || from == 0.0 || to == 0.0) return 0.0;
  return std::max(1.0, std::round(std::log(to / from) / std::log(times)));
}

double most(const Counts& counts) {
  return counts.empty() ? 0.0 : static_cast<double>(*std::ranges::max_element(counts));
}

}  // namespace

Growth Growth::of(const Problem& problem, DType dtype) {
  const at::NoGradGuard no_grad;
  Growth growth;
  for (const auto& axis : problem.axes) growth.counted_at_[axis.name] = legal(axis, small);
  growth.counted_at_ = fitted(problem, std::move(growth.counted_at_), most_elements);
  auto counts = counts_of(problem, dtype, growth.counted_at_);
  if (!counts) {
    // Its groups or its windows may want others.
    try {
      growth.counted_at_ = plain_case(problem, dtype).spec.axes;
    } catch (const ReferenceFault&) {
      return {};
    }
    counts = counts_of(problem, dtype, growth.counted_at_);
    if (!counts) return {};
  }
  for (const auto elements : *counts) {
    growth.results_.push_back({static_cast<double>(elements), {}});
  }
  for (const auto* axis : free_axes(problem)) {
    const auto longer = counts_along(problem, dtype, *axis, growth.counted_at_);
    // A reference that loops over the axis has as many operators more: the largest result speaks
    // for all.
    const bool as_many = longer && longer->counts.size() == counts->size();
    for (std::size_t i = 0; i < growth.results_.size(); ++i) {
      auto& result = growth.results_[i];
      double by = 1.0;  // Of what it was not seen at.
      if (as_many) {
        by = power(result.elements, static_cast<double>(longer->counts[i]), longer->times);
      } else if (longer) {
        by = power(most(*counts), most(longer->counts), longer->times);
      }
      if (by > 0.0) result.powers[axis->name] = by;
    }
  }
  std::ranges::sort(growth.results_);
  growth.results_.erase(std::unique(growth.results_.begin(), growth.results_.end()),
                        growth.results_.end());
  return growth;
}

double Growth::at(const Result& result, const AxisValues& axes) const {
  double elements = result.elements;
  for (const auto& [axis, by] : result.powers) {
    elements *= std::pow(
        static_cast<double>(axes.at(axis)) / static_cast<double>(counted_at_.at(axis)), by);
  }
  return elements;
}

const Growth::Result* Growth::largest_result(const AxisValues& axes) const {
  const auto found =
      std::max_element(results_.begin(), results_.end(),
                       [&](const Result& a, const Result& b) { return at(a, axes) < at(b, axes); });
  return found == results_.end() ? nullptr : &*found;
}

double Growth::largest(const AxisValues& axes) const {
  const auto* found = largest_result(axes);
  return found == nullptr ? 0.0 : at(*found, axes);
}

AxisValues Growth::within(const Problem& problem, AxisValues axes) const {
  while (largest(axes) > most_made) {
    const auto& powers = largest_result(axes)->powers;
    if (!halve_widest(problem, axes,
                      [&](const Axis& axis) { return powers.contains(axis.name); })) {
      break;
    }
  }
  return axes;
}

}  // namespace ouroboros::judge
