#include "judge/shapes/domain.hpp"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "judge/judge.hpp"
#include "judge/runs/run.hpp"
#include "judge/shapes/extents.hpp"
#include "judge/values/families.hpp"

namespace ouroboros::judge {
namespace {

/// Of the largest input of a timed cell that the reference is asked at as it is.
constexpr std::int64_t most_asked = std::int64_t{1} << 22;

bool takes(const Problem& problem, DType dtype, const AxisValues& axes) {
  const CaseSpec spec{0, dtype, axes, "normal", 1};
  try {
    static_cast<void>(run_reference(problem, spec, draw(problem, spec, 0, at::kCPU)));
  } catch (const ReferenceRaised&) {
    return false;
  } catch (const ReferenceFault&) {
    // No matter of extents.
  }
  return true;
}

/// An axis within the extents that the reference takes while the others are as in `cell`.
Axis narrowed(const Problem& problem, DType dtype, const AxisValues& cell, Axis axis) {
  const auto extent = cell.at(axis.name);
  const auto takes_here = [&](std::int64_t value) {
    auto axes = cell;
    axes[axis.name] = value;
    return takes(problem, dtype, axes);
  };
  // Two odd multiples about the cell's extent, which are no multiples of more.
  const auto most = std::max(axis.maximum, extent);
  const auto takes_multiples = [&](std::int64_t multiple) {
    const auto odd = (extent / multiple) | 1;
    int asked = 0;
    for (const auto by : {0, 2, -2, -4}) {
      const auto value = multiple * (odd + by);
      if (asked == 2 || value <= 0 || value > most) continue;
      if (!takes_here(value)) return false;
      ++asked;
    }
    return asked > 0;
  };
  auto multiple = std::max<std::int64_t>(1, axis.multiple_of);
  while (!takes_multiples(multiple)) {
    if (extent % (2 * multiple) != 0) {
      axis.fixed = extent;
      return axis;
    }
    multiple *= 2;
  }
  axis.multiple_of = multiple;
  if (axis.minimum == 0 && takes_here(0)) return axis;
  auto least = legal(axis, 1);
  while (least < extent && !takes_here(least)) least += multiple * (1 + least / (8 * multiple));
  axis.minimum = std::min(least, extent);
  return axis;
}

}  // namespace

std::optional<std::vector<Axis>> narrowed_axes(const Problem& problem, DType dtype) {
  if (problem.timed.empty()) return std::nullopt;
  const at::NoGradGuard no_grad;
  auto cell = problem.timed.front();
  if (largest_input(problem, cell) > most_asked) {
    cell = shortened(problem, cell, most_timed_elements);
  }
  if (!takes(problem, dtype, cell)) return std::nullopt;
  auto axes = problem.axes;
  bool narrower = false;
  for (auto& axis : axes) {
    if (axis.fixed || cell.at(axis.name) == 0) continue;
    const auto found = narrowed(problem, dtype, cell, axis);
    narrower |=
        found.fixed || legal(found, 1) != legal(axis, 1) || legal(found, 0) != legal(axis, 0);
    axis = found;
  }
  return narrower ? std::optional(axes) : std::nullopt;
}

std::string describe_narrowed(const Problem& problem, const std::vector<Axis>& axes) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto& was = problem.axes[i];
    const auto& axis = axes[i];
    if (axis.fixed) {
      if (!was.fixed) add(axis.name + " is " + std::to_string(*axis.fixed));
      continue;
    }
    if (axis.multiple_of != was.multiple_of) {
      add(axis.name + " is a multiple of " + std::to_string(axis.multiple_of));
    }
    if (axis.minimum > std::max(was.minimum, axis.multiple_of) ||
        (axis.minimum > 0 && was.minimum == 0)) {
      add(axis.name + " is at least " + std::to_string(axis.minimum));
    }
  }
  return text;
}

}  // namespace ouroboros::judge
