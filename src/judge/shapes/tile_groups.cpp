#include "judge/shapes/tile_groups.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "judge/base/random.hpp"
#include "judge/shapes/extents.hpp"

namespace ouroboros::judge {
namespace {

/// Rows of tiles in a group, and numbers in a column of a tile.
constexpr std::int64_t largest_group = 16;
constexpr std::int64_t least_tile = 16;
constexpr std::int64_t largest_tile = 256;

/// Two groups of eight tiles of 128, and not one more row.
constexpr std::int64_t longest = 2047;
constexpr int draws = 64;

struct Meanings {
  std::set<std::int64_t> groups;
  std::set<std::int64_t> tiles;
};

Meanings meanings_of(const Landmarks& landmarks) {
  Meanings found;
  for (const auto* numbers : {&landmarks.ordered, &landmarks.equal, &landmarks.others}) {
    for (const auto one : *numbers) {
      if (one <= largest_group) found.groups.insert(one);
      if (one >= least_tile && one <= largest_tile) found.tiles.insert(one);
    }
  }
  return found;
}

/// Of how many tiles and groups the last group is a shorter one.
std::int64_t shorter_groups(std::int64_t extent, const Meanings& meanings) {
  std::int64_t count = 0;
  for (const auto tile : meanings.tiles) {
    const auto rows = (extent + tile - 1) / tile;
    count += std::ranges::count_if(
        meanings.groups, [rows](std::int64_t group) { return rows > group && rows % group != 0; });
  }
  return count;
}

/// The first free axis that one input alone has, of each input that has two dimensions or more.
std::vector<const Axis*> own_axes(const Problem& problem) {
  const auto has = [](const Input& input, const Axis* axis) {
    return std::ranges::any_of(input.shape,
                               [axis](const Dim& dim) { return dim.axis == axis->name; });
  };
  const auto free = free_axes(problem);
  std::vector<const Input*> matrices;
  for (const auto& input : problem.inputs) {
    if (input.shape.size() > 1) matrices.push_back(&input);
  }
  std::vector<const Axis*> own;
  for (const auto* input : matrices) {
    const auto found = std::ranges::find_if(free, [&](const Axis* axis) {
      return has(*input, axis) &&
             std::ranges::count_if(matrices, [&](const auto* one) { return has(*one, axis); }) == 1;
    });
    if (found != free.end()) own.push_back(*found);
  }
  return own;
}

}  // namespace

std::vector<AxisValues> tile_group_shapes(const Problem& problem, const Landmarks& landmarks,
                                          std::uint64_t key) {
  const auto own = own_axes(problem);
  const auto meanings = meanings_of(landmarks);
  if (own.size() < 2 || meanings.tiles.empty()) return {};
  std::vector<AxisValues> shapes;
  for (const auto& [rows, columns] : {std::pair(own[0], own[1]), std::pair(own[1], own[0])}) {
    std::int64_t extent = 0;
    std::int64_t most = 0;
    for (int i = 0; i < draws; ++i) {
      const auto drawn =
          random::below(random::key(key, shapes.size()), static_cast<std::uint64_t>(i), longest);
      const auto one = legal(*rows, 1 + static_cast<std::int64_t>(drawn));
      const auto count = shorter_groups(one, meanings);
      if (count > most || (count == most && one < extent)) {
        extent = one;
        most = count;
      }
    }
    if (most == 0) continue;
    AxisValues axes;
    for (const auto& axis : problem.axes) axes[axis.name] = legal(axis, 2);
    axes[rows->name] = extent;
    axes[columns->name] = legal(*columns, *meanings.tiles.rbegin() + 1);
    if (largest_input(problem, axes) <= most_timed_elements) shapes.push_back(std::move(axes));
  }
  return shapes;
}

}  // namespace ouroboros::judge
