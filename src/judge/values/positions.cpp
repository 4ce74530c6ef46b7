#include "judge/values/positions.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <ranges>
#include <span>

#include "judge/base/random.hpp"
#include "judge/base/tensors.hpp"
#include "judge/values/integers.hpp"
#include "judge/values/masks.hpp"
#include "judge/values/streams.hpp"

namespace ouroboros::judge {
namespace {

/// Indices as sequences have them, row by row: 0, 1, 2 and again from some place on, as positions
/// of two that are packed; or one of two values up to there, as what belongs to the first. The
/// rows take turns.
void fill_sequences(std::vector<std::int64_t>& out, std::size_t cols, std::uint64_t bound,
                    std::uint64_t choice) {
  for (std::size_t first = 0; first < out.size(); first += cols) {
    const bool positions = (first / cols + choice) % 2 == 0;
    const auto place = random::below(choice, first, cols);
    const auto value = out[first];
    const auto other = static_cast<std::int64_t>((static_cast<std::uint64_t>(value) + 1) % bound);
    for (std::size_t i = 0; i < cols && first + i < out.size(); ++i) {
      const auto from_start = i < place ? i : i - place;
      out[first + i] = positions   ? static_cast<std::int64_t>(from_start % bound)
                       : i < place ? value
                                   : other;
    }
  }
}

/// Makes one length of four a multiple of a power of two, as where blocks of a loop end with what
/// is left of a row.
void fill_whole_blocks(std::uint64_t extent, std::uint64_t choice, std::vector<std::int64_t>& out) {
  constexpr std::uint64_t least_bits = 4;
  const auto bits = static_cast<std::uint64_t>(std::bit_width(extent));
  if (bits <= least_bits) return;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto drawn = random::bits(choice, i);
    if (drawn % 4 != 0) continue;
    const auto block = std::uint64_t{1} << (least_bits + (drawn >> 2) % (bits - least_bits));
    out[i] = static_cast<std::int64_t>(block * (1 + (drawn >> 16) % (extent / block)));
  }
}

/// In half of the cases an index or a length that is alone is of any size: along a long axis it
/// would be long nearly always.
void shrink_some(std::uint64_t numbers, std::uint64_t choice, std::vector<std::int64_t>& out) {
  if (random::bits(choice, 0) % 2 != 0) return;
  const auto bits = random::below(choice, 1, static_cast<std::uint64_t>(std::bit_width(numbers)));
  out[0] %= std::int64_t{1} << bits;
}

/// What stands for no index: at the end of some rows, as sequences of several lengths have it, and
/// in one place of eight of the others. One index is left, since a mean over none is none.
void fill_padding(const CaseSpec& spec, std::size_t input, std::size_t cols, std::int64_t padding,
                  std::vector<std::int64_t>& out) {
  if (spec.family == "equal" || out.empty()) return;
  const auto choice = random::key(stream(spec, input, choices), 2);
  const auto left = random::below(choice, 0, out.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto row = i / cols;
    const bool at_the_end = random::bits(stream(spec, input, levels), row) % 2 != 0;
    const bool none = at_the_end ? i % cols > random::below(stream(spec, input, kinds), row, cols)
                                 : random::bits(choice, 1 + i) % 8 == 0;
    if (none && i != left) out[i] = padding;
  }
}

/// Makes indices or lengths those of a family.
void change_indices(const CaseSpec& spec, std::size_t input, Bounds bounds, bool lengths,
                    std::vector<std::int64_t>& out) {
  const auto [least, end] = bounds;
  if (lengths) fill_whole_blocks(end - 1, random::key(stream(spec, input, choices), 9), out);
  fill_marks(spec, input, static_cast<std::int64_t>(least), static_cast<std::int64_t>(end), out);
  if (spec.family == "equal") {
    std::fill(out.begin(), out.end(), out.empty() ? 0 : out.front());
  } else if (spec.family == "sorted") {
    std::sort(out.begin(), out.end());
  } else if (spec.family == "spike") {
    for (auto& one : out) one = static_cast<std::int64_t>(one % 2 == 0 ? least : end - 1);
  } else if (lengths && spec.family == "x64") {
    std::ranges::fill(out, static_cast<std::int64_t>(end - 1));
  } else if (spec.family == "mixed") {
    for (std::size_t i = 1; i < out.size(); i += 2) out[i] = out[i - 1];
  }
}

/// A run of places, from any one on; or a list, in which each place names the one before: of two
/// inputs, such as the ends of edges, one has the place itself.
void fill_runs(const Problem& problem, const CaseSpec& spec, std::size_t input, std::uint64_t bound,
               std::vector<std::int64_t>& out) {
  const auto before =
      std::ranges::count(problem.inputs | std::views::take(input), Values::index, &Input::values);
  const bool list = spec.family == "odd_sign" && before % 2 == 0;
  const auto room = bound - std::min<std::uint64_t>(out.size(), bound);
  const auto start =
      spec.family == "x64" ? random::below(stream(spec, input, choices), 0, room + 1) : 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto place = (start + i) % bound;
    out[i] = static_cast<std::int64_t>(list && place > 0 ? place - 1 : place);
  }
}

/// Gives those that were there before another index, in all or else in each row, where there are
/// enough.
void tell_apart(std::size_t cols, std::size_t bound, std::uint64_t choice,
                std::vector<std::int64_t>& out) {
  const auto length = out.size() <= bound ? out.size() : cols;
  if (length > bound || out.empty()) return;
  std::vector<bool> taken;
  for (std::size_t first = 0; first < out.size(); first += length) {
    taken.assign(bound, false);
    auto next = random::below(choice, first, bound);
    for (std::size_t i = first; i < first + length; ++i) {
      auto& one = out[i];
      if (one < 0 || static_cast<std::size_t>(one) >= bound) continue;  // Padding.
      while (taken[static_cast<std::size_t>(one)]) {
        one = static_cast<std::int64_t>(next);
        next = (next + 1) % bound;
      }
      taken[static_cast<std::size_t>(one)] = true;
    }
  }
}

/// Leaves nearly all, or all, to one part of offsets that are sorted: with many parts none is long
/// by chance, and who takes no part to be longer than a block is right.
void lengthen_one_part(std::span<std::int64_t> row, std::int64_t extent, std::uint64_t choice) {
  const auto part = random::below(choice, 0, row.size() - 1);
  const auto divisor = random::below(choice, 1, 2) == 0 ? extent + 1 : 64;
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i] = i <= part ? row[i] / divisor : extent - (extent - row[i]) / divisor;
  }
}

/// Makes offsets of what was drawn as lengths: parts of all sizes, none among them, and in one row
/// of two a long one, but for ordinary cases.
void fill_offsets(const CaseSpec& spec, std::size_t cols, std::int64_t extent, std::uint64_t choice,
                  std::vector<std::int64_t>& out) {
  for (std::size_t first = 0; first < out.size(); first += cols) {
    const auto row = out.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = row + static_cast<std::ptrdiff_t>(cols);
    std::sort(row, end);
    if (spec.family != "normal" && random::below(choice, first, 2) == 0) {
      lengthen_one_part({row, end}, extent, random::key(choice, 1 + first));
    }
    *(end - 1) = extent;
    *row = 0;
  }
}

void shuffle(std::span<std::int64_t> some, std::uint64_t key, std::uint64_t first) {
  for (std::size_t i = some.size(); i > 1; --i) {
    std::swap(some[i - 1], some[random::below(key, first + i, i)]);
  }
}

/// Shuffles what lies inside groups of numbers, whose ends stay in place: who looks at these takes
/// all for being as it stands. `one_in`: of so many groups, and the one in the middle.
void shuffle_inside(std::span<std::int64_t> row, std::uint64_t key, std::uint64_t first,
                    std::uint64_t one_in) {
  const auto of_groups = random::key(key, 1);
  const auto size = std::size_t{4} << random::below(of_groups, first, 6);
  const auto middle = row.size() / 2 / size * size;
  for (std::size_t at = 0; at + 3 < row.size(); at += size) {
    if (at != middle && random::below(of_groups, first + at + 1, one_in) != 0) continue;
    shuffle(row.subspan(at + 1, std::min(size, row.size() - at) - 2), key, first + at);
  }
}

/// As they stand in some families, backwards in one, nearly as they stand in two, and shuffled in
/// all others.
void fill_permutations(const CaseSpec& spec, std::size_t cols, std::uint64_t key,
                       std::vector<std::int64_t>& out) {
  const auto is = [&spec](const char* family) { return spec.family == family; };
  for (std::size_t first = 0; first < out.size(); first += cols) {
    const auto row = std::span(out).subspan(first, cols);
    std::iota(row.begin(), row.end(), 0);
    if (is("odd_sign")) std::ranges::reverse(row);
    if (is("equal") || is("sorted") || is("odd_sign")) continue;
    if (is("patchwork") || is("uniform")) {
      shuffle_inside(row, key, first, is("uniform") ? 8 : 1);
    } else {
      shuffle(row, key, first);
    }
  }
}

}  // namespace

Bounds bounds_of(const Problem& problem, const CaseSpec& spec, std::size_t input) {
  const auto& one = problem.inputs[input];
  const auto extent = static_cast<std::uint64_t>(
      one.index_axis.empty() ? 1 : value_of(one.index_axis, problem, spec.axes));
  if (one.values == Values::index) return {0, std::max<std::uint64_t>(1, extent)};
  if (one.values == Values::permutation) return {0, extent};
  if (one.values == Values::offsets) return {0, extent + 1};
  const bool some = extent > 0 && (spec.family == "normal" || wants_some(spec, input));
  return {some ? 1U : 0U, extent + 1};
}

bool is_distinct(const CaseSpec& spec, std::size_t input) {
  return std::ranges::find(spec.distinct, input) != spec.distinct.end();
}

std::vector<std::int64_t> index_values(const Problem& problem, const CaseSpec& spec,
                                       std::size_t input, std::size_t cols, std::size_t count) {
  const auto [least, end] = bounds_of(problem, spec, input);
  const auto numbers = end - least;
  const auto key = stream(spec, input, values);
  const auto kind = problem.inputs[input].values;
  std::vector<std::int64_t> out(count);
  if (kind == Values::permutation) {
    fill_permutations(spec, cols, key, out);
    return out;
  }
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<std::int64_t>(random::below(key, i, numbers));
  }
  const bool lengths = kind != Values::index;
  if (!lengths && (spec.family == "patchwork" || spec.family == "uniform")) {
    fill_sequences(out, cols, numbers, stream(spec, input, choices));
  }
  if (count == 1 && spec.family != "normal") shrink_some(numbers, stream(spec, input, kinds), out);
  for (auto& one : out) one += static_cast<std::int64_t>(least);
  const auto& padding = problem.inputs[input].padding;
  const bool plain = spec.family == "normal";  // Which a GPU draws as well, as they are.
  if (!plain) change_indices(spec, input, {least, end}, lengths, out);
  if (!lengths && (spec.family == "x64" || spec.family == "odd_sign")) {
    fill_runs(problem, spec, input, numbers, out);
  }
  if (kind == Values::offsets) {
    fill_offsets(spec, cols, static_cast<std::int64_t>(end - 1),
                 random::key(stream(spec, input, choices), 11), out);
  }
  if (padding) fill_padding(spec, input, cols, *padding, out);
  if (is_distinct(spec, input)) {
    tell_apart(cols, end, random::key(stream(spec, input, choices), 10), out);
  }
  return out;
}

}  // namespace ouroboros::judge
