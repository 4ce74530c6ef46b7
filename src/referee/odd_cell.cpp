#include "referee/odd_cell.hpp"

#include <algorithm>

#include "judge/shapes/extents.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee {
namespace {

constexpr std::uint64_t which_purpose = 801;
constexpr std::uint64_t extents_purpose = 802;
constexpr std::uint64_t race_purpose = 803;

/// Shorter extents mean something: numbers of heads, of groups, of a window's elements.
constexpr std::int64_t least_steps = 256;

/// A cell's extents, each of the long ones less by one, three, five or seven steps. Nothing where
/// no axis is long.
std::optional<AxisValues> odd_extents(const Problem& problem, const AxisValues& cell,
                                      std::uint64_t seed) {
  auto axes = cell;
  for (const auto* axis : judge::free_axes(problem)) {
    auto& extent = axes[axis->name];
    const auto step = std::max<std::int64_t>(1, axis->multiple_of);
    seed = derive_seed(seed, extents_purpose);
    const auto less = step * static_cast<std::int64_t>(1 + 2 * (seed % 4));
    if (extent >= least_steps * step && extent - less >= axis->minimum) extent -= less;
  }
  if (axes == cell) return std::nullopt;
  return axes;
}

}  // namespace

OddCell check_odd_cell(const Problem& problem, const Compiled& compiled, DType dtype,
                       const std::vector<AxisValues>& cells, std::uint64_t seed,
                       const Options& options) {
  const auto& cell = cells[derive_seed(seed, which_purpose) % cells.size()];
  const auto axes = odd_extents(problem, cell, seed);
  if (!axes) return {};
  auto alone = problem;
  alone.baselines.clear();
  const auto race_seed = derive_seed(seed, race_purpose);
  const judge::CaseSpec spec{static_cast<int>(cells.size()), dtype, *axes, "normal", race_seed};
  try {
    require_memory(alone, {&spec, 1});
    const auto race = make_race(alone, compiled, spec, race_seed, options);
    race->leave_untimed();
    race->add_candidate();
    if (!race->failure()) race->warm_up();
    if (!race->failure()) race->probe_constant();
    return {race->failure(), race->oracle_s()};
  } catch (const judge::ReferenceFault&) {
    return {};  // Extents that the reference is not meant for.
  }
}

}  // namespace ouroboros::referee
