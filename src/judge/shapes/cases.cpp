#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "judge/base/random.hpp"
#include "judge/base/tensors.hpp"
#include "judge/judge.hpp"
#include "judge/shapes/extents.hpp"
#include "judge/values/families.hpp"
#include "judge/values/real_values.hpp"

namespace ouroboros::judge {
namespace {

constexpr int wild_count = 3;
constexpr std::size_t most_turns = 4;       ///< Of inputs that have a family for themselves.
constexpr std::uint64_t widest_bits = 13;   ///< Extents of wild shapes are below two to this power.
constexpr std::size_t most_unit_pairs = 6;  ///< Of axes that are both one.
constexpr std::size_t most_equal_pairs = 3;  ///< Of axes that are as long as each other.

/// A shape before it is fitted to a problem: an extent for the leading axes and for the last.
struct Archetype {
  std::int64_t first;
  std::int64_t middle;
  std::int64_t last;
};

// Full shapes carry the value families: several rows and enough columns to show a mistake. Two more
// come from the seed: see secret_shapes.
constexpr Archetype full_shapes[] = {
    {64, 4, 256},   // exact multiples of 64 bytes: the guard pages touch the data at both ends
    {5, 3, 1025},   // one past a power of two
    {17, 2, 1000},  // no multiple of a block
    {65, 2, 257},   // both one past a power of two
    {129, 3, 31},   // more rows than columns
    {2, 2, 4097},   // few long rows
};

// Few columns: what every term of a long sum loses, the sum loses much less of.
constexpr Archetype small_shapes[] = {{1, 1, 1}, {65, 2, 1}, {97, 2, 3}};

/// Draws a number from `low` up to, and without, `high`.
std::int64_t drawn(std::uint64_t seed, std::uint64_t at, std::uint64_t low, std::uint64_t high) {
  return static_cast<std::int64_t>(low + random::below(random::key(seed, 0), at, high - low));
}

/// Shapes that no candidate can list, since the seed alone knows them. Rows of the last fill many
/// blocks to the end.
std::array<Archetype, 3> secret_shapes(std::uint64_t seed) {
  return {{{drawn(seed, 64, 3, 60), 2, drawn(seed, 65, 32, 1024)},
           {drawn(seed, 66, 2, 12), 3, drawn(seed, 67, 514, 2048)},
           {drawn(seed, 68, 2, 4), 2, 1024 * drawn(seed, 69, 2, 9)}}};
}

/// Shapes that meet all families at once, with those of `turned_shapes`: which family meets which
/// of the others is for the seed to say, and kernels have paths of their own for some.
std::array<Archetype, 3> patchwork_shapes(std::uint64_t seed) {
  const auto short_of = drawn(seed, 74, 0, 2) * drawn(seed, 75, 1, 1024);
  return {{{64, 4, 256},                                       // aligned rows
           {17, 2, 2504},                                      // and longer ones
           {8, 1, 1024 * drawn(seed, 73, 5, 9) - short_of}}};  // of many blocks
}

/// Lopsided shapes carry the families that lose least by it. Not x4096: nothing else makes float64
/// overflow, and over one column a mean is as good as a maximum.
std::array<Archetype, 2> lopsided_shapes(std::uint64_t seed) {
  return {{{drawn(seed, 77, 4097, 8193), 1, drawn(seed, 76, 2, 6)},  // many rows of next to nothing
           {1, 1, drawn(seed, 70, 5121, 8193)}}};                    // one row of many blocks
}

bool fits_lopsided(const std::string& family) { return family == "x8" || family == "sorted"; }

/// `turn`: by how many axes the extents move on, so that another axis is the long one.
AxisValues shaped(const Problem& problem, const Archetype& archetype, std::size_t turn = 0) {
  const auto free = free_axes(problem);
  AxisValues axes;
  for (const auto& axis : problem.axes) {
    if (axis.fixed) axes[axis.name] = *axis.fixed;
  }
  for (std::size_t i = 0; i < free.size(); ++i) {
    const auto place = (i + turn) % free.size();
    const auto wanted = place + 1 == free.size() ? archetype.last
                        : place == 0             ? archetype.first
                                                 : archetype.middle;
    axes[free[i]->name] = legal(*free[i], wanted);
  }
  return fitted(problem, std::move(axes), most_elements);
}

/// Empty tensors, one for each axis that may be zero; the others stay small.
std::vector<AxisValues> empty_shapes(const Problem& problem) {
  std::vector<AxisValues> shapes;
  for (const auto& axis : problem.axes) {
    if (axis.fixed || axis.minimum > 0) continue;
    auto axes = shaped(problem, {3, 3, 3});
    axes[axis.name] = 0;
    shapes.push_back(std::move(axes));
  }
  return shapes;
}

/// A secret shape with each axis but the last as the long one: many rows of few columns, long sums
/// in products of matrices, many channels.
std::vector<AxisValues> turned_shapes(const Problem& problem, std::uint64_t seed) {
  const auto free = free_axes(problem).size();
  const Archetype archetype = {drawn(seed, 71, 3, 60), 2, drawn(seed, 72, 130, 1024)};
  std::vector<AxisValues> shapes;
  for (std::size_t turn = 1; turn < free; ++turn) {
    auto axes = shaped(problem, archetype, turn);
    if (std::find(shapes.begin(), shapes.end(), axes) == shapes.end()) {
      shapes.push_back(std::move(axes));
    }
  }
  return shapes;
}

/// Where there are more than two axes, two shapes of the seed's with no short one, of which the
/// second has a long one.
std::vector<AxisValues> balanced_shapes(const Problem& problem, std::uint64_t seed) {
  const std::uint64_t free = free_axes(problem).size();
  if (free < 3) return {};
  const auto long_one = static_cast<std::uint64_t>(drawn(seed, 79, 0, free));
  AxisValues even;
  AxisValues uneven;
  std::uint64_t at = 0;
  for (const auto& axis : problem.axes) {
    even[axis.name] = legal(axis, drawn(seed, 80 + 2 * at, 7, 40));
    uneven[axis.name] = legal(
        axis, at == long_one ? drawn(seed, 81 + 2 * at, 65, 129) : drawn(seed, 81 + 2 * at, 5, 9));
    at += axis.fixed ? 0 : 1;
  }
  return {fitted(problem, std::move(even), most_elements),
          fitted(problem, std::move(uneven), most_elements)};
}

/// Where there are two axes or more, a shape of which all are as long: what tells them apart by
/// their extents cannot. Empty elsewhere.
std::vector<AxisValues> square_shapes(const Problem& problem, std::uint64_t seed) {
  const auto free = free_axes(problem).size();
  if (free < 2) return {};
  const auto extent = free == 2 ? drawn(seed, 78, 33, 65) : drawn(seed, 78, 9, 17);
  return {shaped(problem, {extent, extent, extent})};
}

/// A shape of the seed's with no two extents alike, all short, so that many such shapes are cheap.
AxisValues short_shape(const Problem& problem, std::uint64_t key) {
  const auto free = free_axes(problem);
  const std::int64_t step = free.size() == 2 ? 97 : free.size() == 3 ? 12 : 4;
  auto axes = shaped(problem, {1, 1, 1});
  std::int64_t least = 3;
  std::vector<std::size_t> places(free.size());
  std::iota(places.begin(), places.end(), 0);
  std::ranges::sort(places, {}, [&](std::size_t i) { return random::bits(key, i); });
  for (const auto place : places) {
    axes[free[place]->name] =
        least + static_cast<std::int64_t>(random::below(key, 32 + place, step));
    least += step;
  }
  return axes;
}

/// Adds a shape, with extents that its axes may have; not where an axis has to be longer than one.
void add_if_legal(const Problem& problem, AxisValues axes, std::vector<AxisValues>& shapes) {
  for (const auto* axis : free_axes(problem)) {
    if (axis->minimum > 1 && axes[axis->name] == 1) return;
    axes[axis->name] = legal(*axis, axes[axis->name]);
  }
  axes = fitted(problem, std::move(axes), most_elements);
  if (std::ranges::find(shapes, axes) == shapes.end()) shapes.push_back(std::move(axes));
}

/// One axis of extent one and the others longer, for each axis: a single sample of a batch, a
/// single query, a single head. Code often has a path of its own for those.
std::vector<AxisValues> unit_shapes(const Problem& problem, std::uint64_t seed) {
  const auto free = free_axes(problem);
  std::vector<AxisValues> shapes;
  for (std::size_t i = 0; free.size() > 1 && i < free.size(); ++i) {
    auto axes = short_shape(problem, random::key(seed, 90 + i));
    axes[free[i]->name] = 1;
    add_if_legal(problem, std::move(axes), shapes);
  }
  return shapes;
}

/// Two axes alike and the others not: both of extent one where that leaves two others, and both as
/// long as each other. Each pair of few axes, some of many: a kernel is compiled for each shape.
std::vector<AxisValues> paired_shapes(const Problem& problem, std::uint64_t seed) {
  const auto free = free_axes(problem);
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < free.size(); ++i) {
    for (std::size_t k = i + 1; k < free.size(); ++k) pairs.emplace_back(i, k);
  }
  const auto order = random::key(seed, 89);
  std::ranges::sort(pairs, {}, [&](const auto& pair) {
    return random::bits(order, pair.first * free.size() + pair.second);
  });
  pairs.resize(std::min(pairs.size(), most_unit_pairs));
  std::vector<AxisValues> shapes;
  for (std::size_t i = 0; free.size() > 2 && i < pairs.size(); ++i) {
    const auto& one = free[pairs[i].first]->name;
    const auto& other = free[pairs[i].second]->name;
    if (i < most_equal_pairs) {
      auto axes = short_shape(problem, random::key(seed, 100 + 2 * i));
      axes[other] = axes[one];
      add_if_legal(problem, std::move(axes), shapes);
    }
    if (free.size() > 3) {
      auto axes = short_shape(problem, random::key(seed, 101 + 2 * i));
      axes[one] = axes[other] = 1;
      add_if_legal(problem, std::move(axes), shapes);
    }
  }
  return shapes;
}

/// Shapes of any proportions, each extent drawn from all sizes alike.
std::vector<AxisValues> wild_shapes(const Problem& problem, std::uint64_t seed) {
  std::vector<AxisValues> shapes;
  std::uint64_t at = 128;
  for (int i = 0; i < wild_count; ++i) {
    AxisValues axes;
    for (const auto& axis : problem.axes) {
      const auto bits = drawn(seed, at, 1, widest_bits);
      axes[axis.name] =
          legal(axis, drawn(seed, at + 1, std::uint64_t{1} << bits, std::uint64_t{2} << bits));
      at += 2;
    }
    shapes.push_back(fitted(problem, std::move(axes), most_elements));
  }
  return shapes;
}

bool share_an_input(const Problem& problem, const std::string& one, const std::string& other) {
  const auto has = [](const Input& input, const std::string& name) {
    return std::any_of(input.shape.begin(), input.shape.end(),
                       [&name](const Dim& dim) { return dim.axis == name; });
  };
  return std::any_of(problem.inputs.begin(), problem.inputs.end(),
                     [&](const Input& input) { return has(input, one) && has(input, other); });
}

/// Shapes for axes that may be longer than others ever are: those of rows, and those that indices
/// point into. What is dropped beyond some extent, or where an index has many bits, shows there.
/// The other axes stay short. Not those of leading dimensions: programs for each place are slow to
/// interpret.
std::vector<AxisValues> long_shapes(const Problem& problem, std::uint64_t seed) {
  std::vector<AxisValues> shapes;
  std::uint64_t at = 200;
  for (const auto& axis : problem.axes) {
    if (axis.fixed || axis.maximum <= Axis{}.maximum) continue;
    bool fits = false;
    bool leads = false;
    for (const auto& input : problem.inputs) {
      for (std::size_t i = 0; i < input.shape.size(); ++i) {
        const bool last = i + 1 == input.shape.size();
        if (input.shape[i].axis == axis.name) (last ? fits : leads) = true;
      }
    }
    fits = (fits && !leads) ||
           std::any_of(problem.inputs.begin(), problem.inputs.end(),
                       [&](const Input& one) { return one.index_axis == axis.name; });
    if (!fits) continue;
    AxisValues axes;
    for (const auto& other : problem.axes) {
      const bool beside = share_an_input(problem, axis.name, other.name);
      axes[other.name] = legal(other, beside ? drawn(seed, at, 1, 3) : drawn(seed, at, 9, 33));
      ++at;
    }
    const auto longest = std::min(axis.maximum, most_timed_elements / 2);
    axes[axis.name] = legal(axis, drawn(seed, at++, static_cast<std::uint64_t>(longest / 2 + 1),
                                        static_cast<std::uint64_t>(longest + 1)));
    axes = fitted(problem, std::move(axes), most_timed_elements);
    if (axes[axis.name] > Axis{}.maximum) shapes.push_back(std::move(axes));
  }
  return shapes;
}

/// Sums of narrow integers grow past what other types hold only where they are long: every axis is.
std::vector<AxisValues> whole_sums(const Problem& problem, std::uint64_t seed) {
  const auto is_narrow = [](DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; };
  const bool for_some = std::any_of(problem.dtypes.begin(), problem.dtypes.end(), is_narrow);
  const bool narrow =
      std::any_of(problem.inputs.begin(), problem.inputs.end(), [&](const Input& input) {
        return input.values == Values::real && (input.dtype ? is_narrow(*input.dtype) : for_some);
      });
  std::vector<AxisValues> shapes;
  if (!narrow) return shapes;
  std::uint64_t at = 300;
  for (const auto* long_one : free_axes(problem)) {
    AxisValues axes;
    for (const auto& axis : problem.axes) axes[axis.name] = legal(axis, drawn(seed, at++, 3, 10));
    axes[long_one->name] = legal(*long_one, drawn(seed, at++, 2000, 4097));
    shapes.push_back(fitted(problem, std::move(axes), most_elements));
  }
  return shapes;
}

/// The axis of the largest extent among those that some input has in another place than its last:
/// rows along it are what a reduction over it meets. Empty where there is none, as for inputs of
/// one dimension.
std::string longest_but_last(const Problem& problem, const AxisValues& axes) {
  std::string longest;
  for (const auto& input : problem.inputs) {
    for (std::size_t i = 0; i + 1 < input.shape.size(); ++i) {
      const auto& axis = input.shape[i].axis;
      if (!axis.empty() && (longest.empty() || axes.at(axis) > axes.at(longest))) longest = axis;
    }
  }
  return longest;
}

std::vector<AxisValues> distinct(const Problem& problem, std::span<const Archetype> archetypes) {
  std::vector<AxisValues> shapes;
  std::set<AxisValues> seen;
  for (const auto& archetype : archetypes) {
    auto axes = shaped(problem, archetype);
    if (seen.insert(axes).second) shapes.push_back(std::move(axes));
  }
  return shapes;
}

}  // namespace

std::vector<CaseSpec> derive_cases(const Problem& problem, const std::vector<DType>& dtypes,
                                   std::uint64_t seed) {
  std::vector<CaseSpec> cases;
  const auto add = [&](DType dtype, AxisValues axes, std::string family, std::string along = "") {
    const auto id = static_cast<int>(cases.size());
    const auto own_seed = random::key(seed, 1 + static_cast<std::uint64_t>(id));
    cases.push_back({id, dtype, std::move(axes), std::move(family), own_seed, std::move(along)});
  };
  auto full = distinct(problem, full_shapes);
  for (const auto& archetype : secret_shapes(seed)) {
    auto axes = shaped(problem, archetype);
    if (std::find(full.begin(), full.end(), axes) == full.end()) full.push_back(std::move(axes));
  }
  const auto lopsided = distinct(problem, lopsided_shapes(seed));
  const auto patchworks = distinct(problem, patchwork_shapes(seed));
  auto turned = turned_shapes(problem, seed);
  for (auto& axes : balanced_shapes(problem, seed)) turned.push_back(std::move(axes));
  const auto wild = wild_shapes(problem, seed);
  const auto long_ones = long_shapes(problem, seed);
  const auto long_dtype =
      dtypes.empty() ? DType::float32
                     : dtypes[static_cast<std::size_t>(drawn(seed, 199, 0, dtypes.size()))];
  const bool points = std::any_of(problem.inputs.begin(), problem.inputs.end(),
                                  [](const Input& one) { return one.values == Values::index; });
  const auto turns = std::min(data_of(problem).size(), most_turns);
  auto others = distinct(problem, small_shapes);
  for (auto& axes : square_shapes(problem, seed)) others.push_back(std::move(axes));
  for (auto& axes : empty_shapes(problem)) others.push_back(std::move(axes));
  for (const auto dtype : dtypes) {
    std::vector<std::string> names = families(problem, dtype);
    const auto split = std::stable_partition(names.begin(), names.end(),
                                             [](const auto& name) { return !fits_lopsided(name); });
    const std::vector<std::string> lopsided_names(split, names.end());
    names.erase(split, names.end());
    // The seed decides which family meets which shape.
    const auto turn = random::bits(random::key(seed, 0), static_cast<std::uint64_t>(dtype)) >> 32;
    const auto pair = [&](const std::vector<AxisValues>& shapes,
                          const std::vector<std::string>& families_of_shapes) {
      for (std::size_t i = 0; i < std::max(shapes.size(), families_of_shapes.size()); ++i) {
        add(dtype, shapes[(i + turn) % shapes.size()],
            families_of_shapes[i % families_of_shapes.size()]);
      }
    };
    pair(full, names);
    pair(lopsided, lopsided_names);
    for (const auto& axes : turned) add(dtype, axes, "normal");
    for (const auto& axes : patchworks) add(dtype, axes, "patchwork");
    for (const auto& axes : turned) {
      add(dtype, axes, "patchwork");
      if (const auto axis = longest_but_last(problem, axes); !axis.empty()) {
        add(dtype, axes, "patchwork", axis);
      }
    }
    for (const auto& axes : wild) add(dtype, axes, "patchwork");
    // Beside rows of large errors a small one of an ordinary row is not seen: long shapes and any
    // meet ordinary rows alone as well.
    add(dtype, patchworks.back(), "normal");
    if (is_floating(dtype)) {
      auto same = cases.back();
      same.id = static_cast<int>(cases.size());
      same.family = "again";
      cases.push_back(std::move(same));
      // Images, and what a ReLU leaves: who looks at all of a long row may know it for one.
      add(dtype, patchworks.back(), "uniform");
      // Terms of a softmax that are small one by one, and together are not: who leaves them out.
      add(dtype, patchworks.back(), "spread");
    }
    // Rows of a patchwork have it seldom, and short ones are looked at in full.
    add(dtype, patchworks[patchworks.size() / 2], "odd_sign");
    if (has_twins(problem)) add(dtype, patchworks.front(), "twins");
    if (std::ranges::any_of(problem.inputs, &Input::parameter)) {
      add(dtype, patchworks.front(), "idle");
    }
    for (const auto& axes : wild) add(dtype, axes, "normal");
    add(dtype, wild.back(), "scattered");
    for (const auto& axes : others) add(dtype, axes, "normal");
    if (is_floating(dtype) && problem.policies.inf_meaningful) {
      add(dtype, patchworks[patchworks.size() / 2], "inf");
    }
    for (const auto& axes : whole_sums(problem, seed)) add(dtype, axes, "common_mean");
    // In one dtype, of the seed's: they take long to interpret.
    for (const auto& axes : dtype == long_dtype ? long_ones : std::vector<AxisValues>()) {
      add(dtype, axes, "normal");
      if (points) add(dtype, axes, "equal");
    }
    // Where results are few, rows of other families beside them hide what these two show.
    auto whole = std::pair("common_mean", "faint");
    if (turn % 2 != 0) std::swap(whole.first, whole.second);
    if (is_floating(dtype)) add(dtype, wild.front(), whole.first);
    if (!problem.timed.empty()) {
      const auto& timed = problem.timed.front();
      const auto small = fitted(problem, timed, most_elements);
      add(dtype, small, "patchwork");
      if (is_floating(dtype)) add(dtype, small, whole.second);
      std::set<AxisValues> met;
      for (const auto& cell : problem.timed) {
        auto axes = shortened(problem, cell, most_timed_elements);
        if (met.insert(axes).second) add(dtype, std::move(axes), "normal");
      }
      const auto whole_cell = shortened(problem, timed, most_timed_elements);
      for (const auto& family : lone_families(problem, dtype)) {
        for (std::size_t i = 0; i < std::max<std::size_t>(turns, 1); ++i) {
          add(dtype, whole_cell, family);
        }
      }
      add(dtype, whole_cell, "scattered");
      if (is_floating(dtype) && may_score(problem)) add(dtype, whole_cell, "sink");
      if (dtype == long_dtype && is_floating(dtype)) {
        add(dtype, whole_cell, whole_family(problem, random::key(seed, 76)));
      }
    }
    for (std::size_t i = 0; turns > 1 && i < turns; ++i) add(dtype, patchworks.front(), "absent");
    // Beside others in a patchwork exponentials of them overflow: along an axis in between, too.
    const bool far = std::ranges::find(names, "far_above") != names.end();
    if (far && free_axes(problem).size() > 2) add(dtype, turned.back(), "far_above");
  }
  const auto units = unit_shapes(problem, seed);
  for (const auto dtype : dtypes) {
    for (const auto& axes : units) {
      add(dtype, axes, "normal");
      // Rows of other families have paths of their own too, but few of them are here.
      if (free_axes(problem).size() < 4) add(dtype, axes, "patchwork");
    }
    // A path for a shape is one in all dtypes.
    if (dtype != long_dtype) continue;
    for (const auto& axes : paired_shapes(problem, seed)) add(dtype, axes, "normal");
  }
  if (problem.policies.nan_meaningful && problem.policies.inf_meaningful) {
    for (const auto dtype : dtypes) {
      if (is_floating(dtype)) add(dtype, patchworks[patchworks.size() / 2], "nan_and_inf");
    }
  }
  return cases;
}

void add_cases_of_nothing(std::vector<CaseSpec>& cases, std::uint64_t seed) {
  std::set<DType> met;
  for (std::size_t i = 0, derived = cases.size(); i < derived; ++i) {
    if (cases[i].family != "patchwork" || !cases[i].along.empty()) continue;
    if (!met.insert(cases[i].dtype).second) continue;
    auto of_nothing = cases[i];
    of_nothing.id = static_cast<int>(cases.size());
    of_nothing.seed = random::key(seed, 1 + cases.size());
    of_nothing.family = "nothing";
    cases.push_back(std::move(of_nothing));
  }
}

}  // namespace ouroboros::judge
