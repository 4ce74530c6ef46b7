#include "judge/shapes/landmarks.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "judge/base/random.hpp"
#include "judge/shapes/extents.hpp"
#include "judge/shapes/tile_groups.hpp"

namespace ouroboros::judge {
namespace {

/// Cases of a dtype in which one axis is served first, and of a dtype at least.
constexpr std::size_t turns_each = 3;
constexpr std::size_t least_cases = 6;

/// Cases of a dtype with more elements than some number, and the least such number: fewer are met
/// anyway.
constexpr std::size_t volumes = 2;
constexpr std::int64_t least_volume = 1024;

/// There is a shape with somewhat more elements.
constexpr std::int64_t most_product = most_timed_elements / 4 * 3;

/// Of a kind: who names more hides what matters anyway.
constexpr std::size_t most_numbers = 1024;

/// Smaller extents are met anyway.
constexpr std::int64_t least = 3;

/// Where there are other axes, and this one is timed no longer: a reference may have a step for
/// each of its extent, and what a verdict costs is not for the candidate to say. What wants an
/// extent's square is made shorter anyway: see `Growth`.
constexpr std::int64_t most_of_several = 8193;

constexpr std::uint64_t landmarks_stream = 1U << 20;  ///< Of the seed.
constexpr std::uint64_t orders_stream = 1U << 10;     ///< Of a dtype's.
constexpr std::uint64_t volumes_stream = 1U << 11;    ///< Likewise.
constexpr std::uint64_t groups_stream = 1U << 12;     ///< Likewise.
constexpr std::uint64_t pairs_stream = 1ULL << 40;    ///< Likewise.

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// The value of a numeric literal: 64, 1'024, 1_024, 0x40, 64u. None of one with a fraction.
std::optional<std::int64_t> whole(std::string_view literal) {
  std::string digits;
  for (const char c : literal) {
    if (c != '\'' && c != '_') digits += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  const auto prefix = std::string_view(digits).substr(0, 2);
  const int base = prefix == "0x" ? 16 : prefix == "0b" ? 2 : prefix == "0o" ? 8 : 10;
  if (base != 10) digits.erase(0, 2);
  while (!digits.empty() &&
         (digits.back() == 'u' || digits.back() == 'l' || digits.back() == 'z')) {
    digits.pop_back();
  }
  std::int64_t value = 0;
  const auto* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
  if (digits.empty() || stop != end || error != std::errc()) return std::nullopt;
  return value;
}

/// How many numbers a type of 16 bits tells apart, from zero on: who counts in it is wrong beyond.
std::optional<std::int64_t> most_of_type(std::string_view word) {
  if (word == "int16" || word == "int16_t" || word == "short") return std::int64_t{1} << 15;
  if (word == "uint16" || word == "uint16_t") return std::int64_t{1} << 16;
  return std::nullopt;
}

/// Reads a source literal by literal.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  enum class Use : std::uint8_t { other, equal, ordered };

  /// The next value that literals alone make up, left to right, and what is done with it.
  struct Found {
    std::int64_t value = 0;
    Use use = Use::other;
  };
  std::optional<Found> next() {
    while (const auto first = next_literal()) {
      const bool shift = is_shift(literal_begin_) && *first < 32;
      const auto before = use_before(literal_begin_);
      auto value = shift ? std::int64_t{1} << *first : *first;
      while (const auto combined = combine(value)) {
        value = *combined;
      }
      if (value >= least && value <= most_timed_elements) {
        // What is compared next to a shift is what it leaves.
        return Found{value, shift ? Use::other : std::max(before, use_at(skipped(at_)))};
      }
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  [[nodiscard]] std::size_t skipped(std::size_t i) const {
    while (is_space(at(i))) ++i;
    return i;
  }

  /// The end of a literal or a name that begins at `i`. A literal may have a point, and the sign
  /// of its exponent.
  [[nodiscard]] std::size_t word_end(std::size_t i) const {
    const bool number = is_digit(at(i)) || at(i) == '.';
    while (is_word(at(i)) || (number && (at(i) == '.' || (at(i) == '\'' && is_word(at(i + 1)))))) {
      const bool exponent = number && (at(i) == 'e' || at(i) == 'E');
      i += exponent && (at(i + 1) == '+' || at(i + 1) == '-') ? 2 : 1;
    }
    return i;
  }

  std::optional<std::int64_t> next_literal() {
    while (at_ < text_.size()) {
      const auto begin = at_;
      if (!is_word(at(begin)) && !(at(begin) == '.' && is_digit(at(begin + 1)))) {
        ++at_;
        continue;
      }
      at_ = word_end(begin);
      if (const auto most = most_of_type(text_.substr(begin, at_ - begin))) {
        literal_begin_ = begin;
        return most;
      }
      if (!is_digit(at(begin))) continue;
      if (const auto value = whole(text_.substr(begin, at_ - begin))) {
        literal_begin_ = begin;
        return value;
      }
    }
    return std::nullopt;
  }

  /// `value` times, shifted by or to the power of the literal that follows at once; steps over it.
  std::optional<std::int64_t> combine(std::int64_t value) {
    const auto sign = skipped(at_);
    const bool doubled = at(sign + 1) == at(sign);
    const char op = at(sign);
    if (op != '*' && !(op == '<' && doubled)) return std::nullopt;
    const auto begin = skipped(sign + (doubled ? 2 : 1));
    if (!is_digit(at(begin))) return std::nullopt;
    const auto end = word_end(begin);
    const auto other = whole(text_.substr(begin, end - begin));
    if (!other) return std::nullopt;
    at_ = end;
    const bool power = op == '*' && doubled;
    std::int64_t result = power ? 1 : value;
    const auto factor = power ? value : op == '*' ? *other : 2;
    const auto times = doubled ? *other : 1;
    for (std::int64_t i = 0; i < times && i < 64; ++i) {
      if (__builtin_mul_overflow(result, factor, &result)) {
        return std::numeric_limits<std::int64_t>::max();
      }
    }
    return result;
  }

  /// Whether something is shifted right by what begins at `i`: the result is zero up to a power of
  /// two.
  [[nodiscard]] bool is_shift(std::size_t i) const {
    while (i > 0 && is_space(at(i - 1))) --i;
    return i > 2 && at(i - 1) == '>' && at(i - 2) == '>';
  }

  /// The comparison that ends right before `i`: no shift, arrow or assignment.
  [[nodiscard]] Use use_before(std::size_t i) const {
    while (i > 0 && is_space(at(i - 1))) --i;
    if (i < 2) return Use::other;
    const char last = at(i - 1);
    const char before = at(i - 2);
    if (last == '=') {
      if (before == '<' || before == '>') return Use::ordered;
      return before == '=' || before == '!' ? Use::equal : Use::other;
    }
    const bool ordered = (last == '<' || last == '>') && before != last && before != '-';
    return ordered ? Use::ordered : Use::other;
  }

  [[nodiscard]] Use use_at(std::size_t i) const {
    if (at(i) == '<' || at(i) == '>') return at(i + 1) == at(i) ? Use::other : Use::ordered;
    return (at(i) == '=' || at(i) == '!') && at(i + 1) == '=' ? Use::equal : Use::other;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t literal_begin_ = 0;
};

/// Numbers in an order that the key has.
std::vector<std::int64_t> shuffled(const std::set<std::int64_t>& numbers, std::uint64_t key) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> keyed;
  for (const auto one : numbers) {
    keyed.emplace_back(random::bits(key, static_cast<std::uint64_t>(one)), one);
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<std::int64_t> result;
  for (const auto& [_, one] : keyed) result.push_back(one);
  return result;
}

/// A number from `first` up to, and without, `end`; `first` where there is none.
std::int64_t inside(std::int64_t first, std::int64_t end, std::uint64_t key) {
  const auto width = static_cast<std::uint64_t>(std::max<std::int64_t>(end - first, 1));
  return first +
         static_cast<std::int64_t>(random::below(key, static_cast<std::uint64_t>(first), width));
}

/// The extents to try for an axis, in this order.
std::vector<std::int64_t> extents_at(const Landmarks& landmarks, std::int64_t most,
                                     std::uint64_t key) {
  std::set<std::int64_t> compared(landmarks.ordered.begin(), landmarks.ordered.end());
  compared.insert(landmarks.equal.begin(), landmarks.equal.end());
  // What begins at a number ends at the next one, as far as is known.
  std::set<std::int64_t> paths(landmarks.equal.begin(), landmarks.equal.end());
  for (const auto one : landmarks.ordered) {
    const auto next = compared.upper_bound(one);
    const auto end = next == compared.end() ? 2 * one : *next;
    paths.insert(inside(one + 1, std::min(end, most + 1), key));
  }
  std::set<std::int64_t> edges;
  for (const auto one : compared) edges.insert({one - 1, one, one + 1});
  std::set<std::int64_t> others;
  for (const auto one : landmarks.others) {
    others.insert({one - 1, one, one + 1, inside(one + 1, 2 * one, key)});
  }
  // What is cut off at such a number should be no small part: one maximum in a thousand would be.
  std::set<std::int64_t> beyond;
  for (const auto* group : {&landmarks.ordered, &landmarks.others}) {
    for (const auto one : *group) {
      if (one < least_volume) continue;
      beyond.insert(inside(one + one / 2, std::min(2 * one, most + 1), key));
    }
  }
  std::uint64_t stream = 0;
  std::vector<std::int64_t> wanted;
  for (const auto* group : {&paths, &edges, &others}) {
    for (const auto one : shuffled(*group, random::key(key, ++stream))) wanted.push_back(one);
  }
  // Every second of those that follow the paths.
  auto place = paths.size();
  for (const auto one : shuffled(beyond, random::key(key, ++stream))) {
    place = std::min(place, wanted.size());
    wanted.insert(wanted.begin() + static_cast<std::ptrdiff_t>(place), one);
    place += 2;
  }
  std::vector<std::int64_t> extents;
  std::set<std::int64_t> seen;
  for (const auto one : wanted) {
    if (one <= most && seen.insert(one).second) extents.push_back(one);
  }
  return extents;
}

/// What numbers of elements may be held against, in this order: what is compared comes first.
std::vector<std::int64_t> elements_at(const Landmarks& landmarks, std::uint64_t key) {
  std::vector<std::int64_t> numbers;
  for (const auto* group : {&landmarks.ordered, &landmarks.others}) {
    for (const auto one : shuffled({group->begin(), group->end()}, key)) {
      if (one >= least_volume) numbers.push_back(one);
    }
  }
  return numbers;
}

/// The largest product of two numbers that derived cases do not reach, and others may: so many
/// programs of so many elements, and no more, may be what a kernel launches.
std::optional<std::int64_t> largest_product(const Landmarks& landmarks) {
  std::vector<std::int64_t> numbers;
  for (const auto* group : {&landmarks.ordered, &landmarks.equal, &landmarks.others}) {
    numbers.insert(numbers.end(), group->begin(), group->end());
  }
  std::int64_t largest = most_elements;
  for (const auto one : numbers) {
    for (const auto other : numbers) {
      if (one <= most_product / other) largest = std::max(largest, one * other);
    }
  }
  return largest > most_elements ? std::optional(largest) : std::nullopt;
}

/// Shapes in which axes in turn are first to get an extent.
class Shapes {
 public:
  Shapes(const Problem& problem, const Landmarks& landmarks, std::uint64_t key)
      : problem_(problem), free_(free_axes(problem)), key_(key) {
    for (const auto& axis : problem.axes) small_[axis.name] = legal(axis, 2);
    for (std::size_t axis = 0; axis < free_.size(); ++axis) {
      auto extents = extents_at(landmarks, most_of(axis), random::key(key, axis));
      std::erase_if(extents, [&](std::int64_t extent) {
        return !fits(with(small_, axis, extent), most_timed_elements);
      });
      extents_.push_back(std::move(extents));
    }
  }

  /// Shape number `i`. The axis that is first gets an extent that it did not get so yet; the
  /// others, in an order of chance, the next that leaves no input too large.
  [[nodiscard]] std::optional<AxisValues> at(std::size_t i) const {
    if (free_.empty()) return std::nullopt;
    const auto first = i % free_.size();
    if (extents_[first].empty()) return std::nullopt;
    const auto round = i / free_.size();
    auto axes = with(small_, first, extents_[first][round % extents_[first].size()]);
    for (const auto axis : others(first, i)) {
      const auto& extents = extents_[axis];
      for (std::size_t next = 0; next < extents.size(); ++next) {
        auto trial = with(axes, axis, extents[(round + 1 + next) % extents.size()]);
        if (fits(trial, most_elements)) {
          axes = std::move(trial);
          break;
        }
      }
    }
    return axes;
  }

  /// A shape of any proportions whose largest input has somewhat more than `elements`: whole rows
  /// of it begin behind so many. None where no such is allowed.
  [[nodiscard]] std::optional<AxisValues> beyond(std::int64_t elements) const {
    return grown(elements + elements / 16, 0, free_.size(),
                 volumes_stream + static_cast<std::uint64_t>(elements));
  }

  /// The same of two axes next to each other, which make up up to twice as many alone: where a
  /// reduction goes over both, that is one row, and what is left out should be no small part of it.
  /// Other axes are short. Which axes they are goes by `turn`.
  [[nodiscard]] std::optional<AxisValues> pair_beyond(std::int64_t elements,
                                                      std::size_t turn) const {
    if (free_.size() < 3) return std::nullopt;
    const auto stream = pairs_stream + static_cast<std::uint64_t>(elements);
    const auto key = random::key(key_, stream);
    const auto first = (random::below(key, free_.size(), free_.size()) + turn) % (free_.size() - 1);
    elements = inside(elements + elements / 4, 2 * elements, random::key(key, turn));
    std::int64_t others = 1;
    for (std::size_t axis = 0; axis < free_.size(); ++axis) {
      if (axis != first && axis != first + 1) others *= small_.at(free_[axis]->name);
    }
    if (elements > most_timed_elements / others) return std::nullopt;
    return grown(elements * others, first, first + 2, stream + turn);
  }

 private:
  /// Axes from `first` up to `end` grow until the largest input has more than `elements`.
  [[nodiscard]] std::optional<AxisValues> grown(std::int64_t elements, std::size_t first,
                                                std::size_t end, std::uint64_t stream) const {
    const auto key = random::key(key_, stream);
    auto axes = small_;
    for (std::size_t axis = first; axis < end; ++axis) {
      const auto begin = static_cast<std::int64_t>(random::below(key, axis, 64));
      axes = with(std::move(axes), axis, 2 + begin);
    }
    while (fits(axes, elements)) {
      auto larger = axes;
      for (std::size_t axis = first; axis < end; ++axis) {
        const auto extent = axes.at(free_[axis]->name);
        const auto step = std::max<std::int64_t>({1, free_[axis]->multiple_of, extent / 16});
        larger = with(std::move(larger), axis, std::min(extent + step, most_of(axis)));
      }
      if (larger == axes) return std::nullopt;
      axes = std::move(larger);
    }
    return fits(axes, most_timed_elements) ? std::optional(axes) : std::nullopt;
  }

  [[nodiscard]] std::int64_t most_of(std::size_t axis) const {
    auto most = free_.size() == 1 ? most_timed_elements : most_of_several;
    for (const auto& cell : problem_.timed) most = std::max(most, cell.at(free_[axis]->name));
    return most;
  }

  [[nodiscard]] AxisValues with(AxisValues axes, std::size_t axis, std::int64_t extent) const {
    axes[free_[axis]->name] = legal(*free_[axis], extent);
    return axes;
  }

  [[nodiscard]] bool fits(const AxisValues& axes, std::int64_t limit) const {
    return largest_input(problem_, axes) <= limit;
  }

  [[nodiscard]] std::vector<std::size_t> others(std::size_t first, std::size_t i) const {
    std::vector<std::size_t> order;
    for (std::size_t axis = 0; axis < free_.size(); ++axis) {
      if (axis != first) order.push_back(axis);
    }
    const auto turn = random::key(key_, orders_stream + i);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return random::bits(turn, a) < random::bits(turn, b);
    });
    return order;
  }

  const Problem& problem_;
  std::vector<const Axis*> free_;
  std::uint64_t key_;
  AxisValues small_;
  std::vector<std::vector<std::int64_t>> extents_;  ///< To try for each axis, in this order.
};

}  // namespace

Landmarks landmarks_of(std::string_view source, const std::vector<std::int64_t>& marks) {
  std::set<std::int64_t> of[3];
  Reader reader(source);
  while (const auto found = reader.next()) {
    auto& numbers = of[static_cast<std::size_t>(found->use)];
    if (numbers.size() < most_numbers) numbers.insert(found->value);
  }
  auto& [others, equal, ordered] = of;
  for (const auto one : marks) {
    if (one >= least && one <= most_timed_elements) ordered.insert(one);
  }
  for (const auto one : ordered) equal.erase(one);
  for (const auto one : ordered) others.erase(one);
  for (const auto one : equal) others.erase(one);
  return {{ordered.begin(), ordered.end()},
          {equal.begin(), equal.end()},
          {others.begin(), others.end()}};
}

std::vector<CaseSpec> landmark_cases(const Problem& problem, const std::vector<DType>& dtypes,
                                     std::uint64_t seed, const Landmarks& landmarks, int first_id) {
  std::vector<CaseSpec> cases;
  auto marks = landmarks.ordered;
  marks.insert(marks.end(), landmarks.equal.begin(), landmarks.equal.end());
  const auto axes_count = free_axes(problem).size();
  const auto count = std::max(least_cases, turns_each * axes_count);
  const auto product = largest_product(landmarks);
  for (const auto dtype : dtypes) {
    const auto key = random::key(seed, landmarks_stream + static_cast<std::uint64_t>(dtype));
    const Shapes shapes(problem, landmarks, key);
    const auto add = [&](AxisValues axes, std::string family) {
      const auto id = first_id + static_cast<int>(cases.size());
      const auto own_seed = random::key(seed, 1 + static_cast<std::uint64_t>(id));
      cases.push_back({id, dtype, std::move(axes), std::move(family), own_seed, {}, marks});
    };
    for (std::size_t i = 0; i < count; ++i) {
      // Ordinary rows alone, too: beside those of large errors a small one is not seen.
      for (const auto* family : {"patchwork", "normal"}) {
        if (auto axes = shapes.at(i)) add(std::move(*axes), family);
      }
    }
    std::size_t left = volumes;
    for (const auto elements : elements_at(landmarks, random::key(key, volumes_stream))) {
      // One axis is as long anyway.
      auto axes = left == 0 || axes_count < 2 ? std::nullopt : shapes.beyond(elements);
      if (!axes) continue;
      add(std::move(*axes), "patchwork");
      --left;
    }
    for (auto& axes : tile_group_shapes(problem, landmarks, random::key(key, groups_stream))) {
      add(std::move(axes), "normal");
    }
    left = volumes;
    for (const auto elements : elements_at(landmarks, random::key(key, pairs_stream))) {
      for (auto axes = shapes.pair_beyond(elements, left); left > 0 && axes;
           axes = shapes.pair_beyond(elements, left)) {
        add(std::move(*axes), "patchwork");
        --left;
      }
    }
    if (auto axes = product && axes_count > 0 ? shapes.beyond(*product) : std::nullopt) {
      add(std::move(*axes), "normal");
    }
  }
  return cases;
}

}  // namespace ouroboros::judge
