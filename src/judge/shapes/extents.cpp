#include "judge/shapes/extents.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "judge/base/tensors.hpp"

namespace ouroboros::judge {

std::int64_t legal(const Axis& axis, std::int64_t wanted) {
  if (axis.fixed) return *axis.fixed;
  const auto multiple = std::max<std::int64_t>(1, axis.multiple_of);
  const auto up = [&](std::int64_t v) { return (v + multiple - 1) / multiple * multiple; };
  const auto lowest = wanted == 0 ? axis.minimum : std::max<std::int64_t>(1, axis.minimum);
  const auto highest = axis.maximum / multiple * multiple;
  return std::max(up(lowest), std::min(up(std::max(wanted, lowest)), highest));
}

std::int64_t largest_input(const Problem& problem, const AxisValues& axes) {
  const auto is_free = [&](const Dim& dim) {
    return std::any_of(problem.axes.begin(), problem.axes.end(),
                       [&](const Axis& axis) { return !axis.fixed && axis.name == dim.axis; });
  };
  std::int64_t largest = 0;
  for (const auto& input : problem.inputs) {
    if (std::none_of(input.shape.begin(), input.shape.end(), is_free)) continue;
    std::int64_t elements = 1;
    for (const auto extent : shape_of(input, problem, axes)) {
      if (extent != 0 && elements > std::numeric_limits<std::int64_t>::max() / extent) {
        return std::numeric_limits<std::int64_t>::max();
      }
      elements *= extent;
    }
    largest = std::max(largest, elements);
  }
  return largest;
}

bool halve_widest(const Problem& problem, AxisValues& axes,
                  const std::function<bool(const Axis&)>& may) {
  const Axis* widest = nullptr;
  std::int64_t shrunk = 0;
  for (const auto& axis : problem.axes) {
    if (axis.fixed || !may(axis)) continue;
    const auto half = legal(axis, std::max<std::int64_t>(1, axes[axis.name] / 2));
    if (half < axes[axis.name] && (widest == nullptr || axes[axis.name] > axes[widest->name])) {
      widest = &axis;
      shrunk = half;
    }
  }
  if (widest == nullptr) return false;
  axes[widest->name] = shrunk;
  return true;
}

AxisValues fitted(const Problem& problem, AxisValues axes, std::int64_t limit) {
  const auto any = [](const Axis&) { return true; };
  while (largest_input(problem, axes) > limit && halve_widest(problem, axes, any)) {
  }
  return axes;
}

AxisValues shortened(const Problem& problem, AxisValues axes, std::int64_t limit) {
  const auto is_too_large = [&](const Axis& axis) {
    return std::any_of(problem.inputs.begin(), problem.inputs.end(), [&](const Input& input) {
      const auto shape = shape_of(input, problem, axes);
      const double elements =
          std::accumulate(shape.begin(), shape.end(), 1.0, std::multiplies<double>());
      return elements > static_cast<double>(limit) &&
             std::any_of(input.shape.begin(), input.shape.end(),
                         [&axis](const Dim& dim) { return dim.axis == axis.name; });
    });
  };
  for (const auto* axis : free_axes(problem)) {
    auto& extent = axes[axis->name];
    while (is_too_large(*axis)) {
      const auto half = legal(*axis, std::max<std::int64_t>(1, extent / 2));
      if (half >= extent) break;
      extent = half;
    }
  }
  return axes;
}

std::vector<const Axis*> free_axes(const Problem& problem) {
  std::vector<std::string> order;
  for (const auto& input : problem.inputs) {
    for (const auto& dim : input.shape) order.push_back(dim.axis);
  }
  const auto place = [&order](const Axis* axis) {
    return std::find(order.begin(), order.end(), axis->name) - order.begin();
  };
  std::vector<const Axis*> free;
  for (const auto& axis : problem.axes) {
    if (!axis.fixed) free.push_back(&axis);
  }
  std::stable_sort(free.begin(), free.end(),
                   [&](const Axis* a, const Axis* b) { return place(a) < place(b); });
  return free;
}

}  // namespace ouroboros::judge
