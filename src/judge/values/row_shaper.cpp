#include "judge/values/row_shaper.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "judge/base/random.hpp"
#include "judge/values/mixtures.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::judge {
namespace {

/// In longer rows of one number a plain sum errs the same way at every step, so the number has so
/// few bits that sums of it, and of its products with others, are exact in float32; and a single
/// other one would leave squares that float32 cannot add to its own, so there are more of those.
constexpr std::size_t longest_of_equal = 2048;
constexpr std::uint64_t others_when_long = 16;

/// The number of at most 4, not zero, that is next to `v` and short enough for a row of `length`.
double short_number(double v, std::size_t length) {
  constexpr int float32_bits = 24;
  const int bits = (float32_bits - static_cast<int>(std::bit_width(length - 1))) / 2;
  const double step = std::ldexp(1.0, 2 - bits);
  const double made = std::nearbyint(v / step) * step;
  return made == 0.0 ? step : made;
}

/// Splits rows in two halves, `n / 2` in other two: of four that follow one another each is of its
/// own kind.
constexpr bool other_half(std::size_t n) noexcept { return n % 2 != 0; }

/// Of "scattered": one row in so many, and so many at most, is of a family of its own. The first
/// ones show what costs most to get right: a mean far from zero, and exponentials that overflow.
constexpr std::size_t rows_for_one = 8;
constexpr std::uint64_t most_scattered = 4;
constexpr std::array<std::string_view, 3> scattered_first = {"large_mean", "x64", "spike"};
constexpr std::uint64_t scattered_numbers = 4;

/// Draws the rows that are all NaN.
constexpr std::uint64_t nan_rows = std::uint64_t{1} << 42;

/// The largest or smallest of all numbers is one of so many at an end.
constexpr std::uint64_t tail = 64;

/// Some rows that are to be of one family.
class Stretch : RowShaper {
 public:
  Stretch(const RowShaper& shaper, std::size_t first_row, std::size_t last_row)
      : RowShaper(shaper),
        first_row_(first_row),
        last_row_(last_row),
        first_(first_row * layout.cols),
        last_(last_row * layout.cols) {}

  void normal() const {}

  /// From 0 to 1, as images and probabilities; from -1 to 1, as such that are centred; as after a
  /// ReLU; or padded.
  void uniform() const {
    each_row(1, [&](auto row, std::size_t n) {
      const std::uint64_t begin = n * layout.cols;
      if (!other_half(n)) return other_half(n / 2) ? rectify(row, n) : pad(row, n);
      const auto drawn = random::bits(choice, n + (std::uint64_t{1} << 42));
      const bool centred = drawn % 2 != 0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const double share = random::uniform(level, begin + i);
        row[i] = centred ? 2.0 * share - 1.0 : share;
      }
      if ((drawn & 2U) != 0) normalise(row, centred ? 2 : 1, drawn >> 2);
    });
  }

  /// As images have them that nobody has scaled; in half of the rows all but white.
  void bytes() const {
    const double end = std::ldexp(1.0, power.white);
    each_row(1, [&](auto row, std::size_t n) {
      const std::uint64_t begin = n * layout.cols;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const double share = random::uniform(level, begin + i);
        row[i] = !other_half(n) ? std::floor(end * share) : end - (share < 1.0 / 16 ? 2.0 : 1.0);
      }
    });
  }

  template <int Exponent>
  void scaled() const {
    scale(std::ldexp(1.0, Exponent));
  }

  /// Exponentials of which many are small, and matter together: in `normal` none are, and in `x64`
  /// few of a row are more than zero. Products of two such inputs spread as `x8` does. In every
  /// other row all but one are small, and together from e^-11 to e^-4 of that one.
  void spread() const {
    const double factor = 3.0 + random::uniform(level, 0);
    each_row(1, [&](auto row, std::size_t n) {
      if (!other_half(n)) {
        for (double& v : row) v *= factor;
        return;
      }
      const double part = static_cast<double>(n / 2 % 4) + random::uniform(level, n + 1);
      const auto length = static_cast<double>(row.size());
      row[random::below(choice, n, row.size())] = std::log(length) + 4.0 + 7.0 / 4.0 * part;
    });
  }

  /// Half of the rows far below zero: a maximum that starts at zero would stay there.
  void large_mean() const {
    const double mean = std::ldexp(1.0, power.mean);
    each_row(1, [mean](auto row, std::size_t n) {
      for (double& v : row) v += other_half(n) ? -mean : mean;
    });
  }

  /// As masks leave whole rows: a maximum that starts at -1e4, or at the least number of float16,
  /// stays there, and so does a minimum that starts at 1e4; in every other row one of -1e6.
  void far_below() const { far(-1.0); }

  void far_above() const { far(1.0); }

  /// One number throughout, of few bits so that plain sums of its squares are exact: sixteenths, or
  /// zero. What is rounded is off the same way everywhere, and counters overflow.
  void constant() const {
    const auto steps = random::below(choice, 0, 3) == 0 ? 0.0 : 64.0;
    const double one = std::nearbyint((2.0 * random::uniform(level, 0) - 1.0) * steps) / 16.0;
    each([one](double& v, std::size_t) { v = one; });
  }

  /// Of all rows: sums over several of them cancel as those over one do. No power of two, which any
  /// format holds: rounded to few bits all numbers are off the same way.
  void common_mean() const {
    const double size = 1.0 - 0.25 * random::uniform(level, 0);
    const double mean = std::ldexp(random::below(choice, 0, 2) == 0 ? size : -size, power.mean);
    each([mean](double& v, std::size_t) { v += mean; });
  }

  /// One that leaves the others their exponentials, and in half of these rows a part of their sum,
  /// however far below it they lie as a whole; in half of the rows one that overflows where it was
  /// not among those that the maximum was taken of, and its neighbour one less: a clamp makes them
  /// equal. How much more than that it is, no clamp knows. Every other pair of rows looks ordinary
  /// but for that.
  void spike() const {
    each_row(1, [&](auto row, std::size_t n) {
      if (!other_half(n / 2)) {
        for (double& v : row) v *= 0x1p-6;
      }
      // Where one may look for what a row is like, in a quarter of the rows.
      const auto place = random::below(choice, n + (std::uint64_t{1} << 40), 8);
      const auto at = place == 0   ? 0
                      : place == 1 ? row.size() - 1
                                   : random::below(choice, n, row.size());
      const int binade = often_first(power.overflow, power.tallest, n);
      const double tall = binade == power.overflow
                              ? std::ldexp(1.0, binade)
                              : std::ldexp(1.0 + random::uniform(level, n), binade - 1);
      if (other_half(n)) row[(at + 1) % row.size()] = tall - 1.0;
      const double low = std::exp2(std::min(5.0, 3.0 + 4.0 * random::uniform(level, n)));
      row[at] = other_half(n) ? tall : low;
    });
  }

  /// One number for all rows but for every second pair of them. Who looks at the first, the last
  /// and the one in the middle takes all for equal.
  void equal() const {
    const bool several = last_row_ - first_row_ > 1 && first_ < last_;
    const double of_all = several ? numbers[first_] : 0.0;
    each_row(1, [&](auto row, std::size_t n) {
      const auto at = n - kind;
      const bool seen = several && (at == 0 || at == layout.rows / 2 || at == layout.rows - 1);
      if (other_half(n / 2) && !seen) {
        repeat(row, n);
      } else {
        const bool is_long = row.size() > longest_of_equal;
        const double number = several ? of_all : row[0];
        const double one = is_long ? short_number(number, row.size()) : number;
        std::fill(row.begin(), row.end(), one);
        const std::uint64_t others = !other_half(n) ? 0 : is_long ? others_when_long : 1;
        for (std::uint64_t i = 0; i < others; ++i) {
          row[random::below(choice, n + (i << 32), row.size())] += 1.0;
        }
      }
    });
  }

  /// Up or down. In half of the rows two are out of order, the largest and the smallest: they are
  /// not where one looks for them, which is at the ends.
  void sorted() const {
    each_row(1, [&](auto row, std::size_t n) {
      std::sort(row.begin(), row.end());
      const auto [smallest, largest] = std::pair(row.front(), row.back());
      if (other_half(n / 2)) std::reverse(row.begin(), row.end());
      if (!other_half(n)) return;
      const auto at = row.size() / 8 + random::below(choice, n, row.size() - row.size() / 4);
      row[row.size() - 1 - at] = 1.25 * smallest - 96.0;
      row[at] = 1.25 * largest + 96.0;
    });
  }

  void sorted_x64() const {
    scale(64.0);
    sorted();
  }

  void denormal() const { scale(std::ldexp(1.0, power.denormal)); }

  void tiny() const {
    each_row(1, [&](auto row, std::size_t n) {
      const double factor = std::ldexp(1.0, often_first(power.tiny, power.tiniest, n));
      for (double& v : row) v *= factor;
    });
  }

  /// All rows alike: beside larger results a few small ones share their bounds.
  void faint() const {
    const int above = static_cast<int>(random::below(level, 0, 8));
    scale(std::ldexp(1.0, std::min(power.tiniest + above, power.tiny)));
  }

  void mixed() const {
    const auto span = static_cast<std::uint64_t>(power.mixed_high - power.mixed_low + 1);
    each([&](double& v, std::size_t i) {
      v = std::ldexp(v, power.mixed_low + static_cast<int>(random::below(level, i, span)));
    });
  }

  /// Every other row stays clean, so that a candidate cannot answer with NaN throughout. In half of
  /// the others it is not the only one, in some of them most are, and one in four is nothing else.
  void nan() const {
    const auto whole = random::key(level, nan_rows);
    each_row(2, [&](auto row, std::size_t n) {
      if (random::below(whole, n, 4) == 0) {
        for (std::size_t i = 0; i < row.size(); ++i) row[i] = not_a_number(n * layout.cols + i);
        return;
      }
      row[random::below(choice, n, row.size())] = not_a_number(n * layout.cols);
      const auto share = other_half(n / 4) ? 6U : 2U;
      for (std::size_t i = 0; other_half(n / 2) && i < row.size(); ++i) {
        const auto place = n * layout.cols + i;
        if (random::bits(level, place) % 8 < share) row[i] = not_a_number(place);
      }
    });
  }

  /// In every other row: one, of either sign; or as masks leave it, nothing up to some place, or
  /// from there on.
  void inf() const {
    each_row(2, [&](auto row, std::size_t n) {
      const auto at = random::below(choice, n, row.size());
      if (!other_half(n / 2)) {
        row[at] = std::copysign(infinity, row[at]);
        return;
      }
      const auto middle = row.begin() + static_cast<std::ptrdiff_t>(at);
      const bool above = other_half(n / 4);
      std::fill(above ? row.begin() : middle + 1, above ? middle : row.end(), -infinity);
    });
  }

  /// In every other row: two infinities of both signs, or one and something that is no number.
  void nan_and_inf() const {
    each_row(2, [&](auto row, std::size_t n) {
      const auto one = random::below(choice, n, row.size());
      const auto other = (one + 1 + random::below(level, n, row.size())) % row.size();
      const double first = std::copysign(infinity, row[one]);
      row[one] = first;
      if (other != one) row[other] = other_half(n / 2) ? -first : not_a_number(n * layout.cols);
    });
  }

  /// All of one sign but for one number: who asks some of them whether any is below zero, or all
  /// are, has the wrong answer.
  void odd_sign() const {
    each_row(1, [&](auto row, std::size_t n) {
      const double sign = other_half(n) ? 1.0 : -1.0;
      for (double& v : row) v = std::copysign(v, sign);
      double& odd = row[random::below(choice, n, row.size())];
      odd = std::copysign(std::max(std::fabs(odd), 0.5), -sign);
    });
  }

  /// But for one number in one row of eight: who knows inputs by some of their elements has met
  /// these, and the fewer are others, the less often it knows them by one that is.
  void again() const {
    const auto apart = std::min<std::size_t>(8, last_row_ - first_row_);
    const auto row_of_them = random::below(level, 0, apart);
    for (std::size_t row = first_row_ + row_of_them; row < last_row_; row += apart) {
      numbers[row * layout.cols + random::below(choice, row, layout.cols)] *= -2.0;
    }
  }

  /// But for one number in each row: who takes them for the same by a look is wrong in all.
  void twins() const {
    each_row(1,
             [&](auto row, std::size_t n) { row[random::below(choice, n, row.size())] *= -2.0; });
  }

  /// One of all numbers: who looks at some of them does not see it.
  void lone_nan() const { lone_one() = not_a_number(0); }

  void lone_inf() const { lone_one() = infinity; }

  void lone_minus_inf() const { lone_one() = -infinity; }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  template <typename Change>
  void each(Change&& change) const {
    for (std::size_t i = first_; i < last_; ++i) change(numbers[i], i);
  }

  template <typename Change>
  void each_row(std::size_t step, Change&& change) const {
    for (std::size_t row = first_row_; row < last_row_; row += step) {
      change(std::span(numbers).subspan(row * layout.cols, layout.cols), kind + row);
    }
  }

  void scale(double factor) const {
    each([factor](double& v, std::size_t) { v *= factor; });
  }

  [[nodiscard]] double& lone_one() const {
    return numbers[first_ + random::below(choice, 0, last_ - first_)];
  }

  /// The first of two exponents in half of the rows, and anything between the two in the others.
  [[nodiscard]] int often_first(int first, int last, std::size_t row) const {
    if (first == last) return first;
    const auto steps = static_cast<std::uint64_t>(std::abs(last - first));
    const auto drawn = random::below(level, row, 2 * steps);
    const int step = drawn < steps ? 0 : static_cast<int>(drawn - steps) + 1;
    return last < first ? first - step : first + step;
  }

  /// A few numbers again and again, whole ones or halves too, and two largest ones, equal or next
  /// to one another; or the row above, but for one element.
  void repeat(std::span<double> row, std::size_t n) const {
    const auto one = random::below(choice, n, row.size());
    if (n % 2 != 0 && row.data() != numbers.data()) {
      std::copy_n(row.data() - row.size(), row.size(), row.begin());
      row[one] = -3.0;
      return;
    }
    const double step = one % 2 == 0 ? 0.5 : 1.0;
    for (double& v : row) v = std::clamp(std::nearbyint(v / step) * step, -2.0, 2.5);
    row[random::below(level, n, row.size())] = 3.0;
    row[one] = other_half(n / 4) ? 3.0 + std::ldexp(1.0, power.near) : 3.0;
  }

  /// As padding leaves it: zeros at both ends and in the middle; zeros, or one number, at one end
  /// or in between; or all zeros. Who looks at some elements takes them for all. Every other such
  /// row of an input has them at both ends: of any two that follow one another one has.
  void pad(std::span<double> row, std::size_t n) const {
    constexpr std::uint64_t turn_of_input = std::uint64_t{1} << 41;
    const auto turn = n / 4 + random::below(choice, turn_of_input, 32);
    const auto fill = [&](std::size_t first, std::size_t count, double value = 0.0) {
      std::fill_n(row.begin() + static_cast<std::ptrdiff_t>(first), count, value);
    };
    const auto size = row.size();
    const auto many = random::below(choice, n, 4) == 0;
    const auto few = 16 + random::below(level, n, 33);
    if (turn % 2 == 0) {
      const auto length = many ? size / 4 : std::min<std::size_t>(size / 3, few);
      fill(0, length);
      fill(size - length, length);
      fill(size / 2, length != 0 ? 1 : 0);
      return;
    }
    const auto length = many ? size / 2 : std::min<std::size_t>(size / 2, few);
    const auto at = random::below(level, n + 1, size - length + 1);
    const double value = turn / 8 % 4 == 0 ? row[size / 2] : 0.0;
    switch (turn / 2 % 4) {
      case 0:
        return fill(0, length, value);
      case 1:
        return fill(at, length, value);
      case 2:
        return fill(size - length, length, value);
      default:
        return fill(0, size);
    }
  }

  /// As a ReLU leaves it, in a quarter of such rows the other way round; zeros have either sign, of
  /// which comparisons know nothing.
  void rectify(std::span<double> row, std::size_t n) const {
    const double sign = random::bits(choice, n + (std::uint64_t{1} << 42)) % 4 == 0 ? -1.0 : 1.0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double zero = random::bits(level, n * layout.cols + i) % 2 == 0 ? 0.0 : -0.0;
      row[i] = row[i] > 0.0 ? sign * row[i] : zero;
    }
  }

  /// To a sum of one, as probabilities have it, or of squares, as directions have it; nearly: who
  /// takes what is nearly so for normalised is wrong by 2^-12 to 2^-7.
  static void normalise(std::span<double> row, int power, std::uint64_t drawn) {
    double sum = 0.0;
    for (const double v : row) sum += power == 1 ? std::fabs(v) : v * v;
    const double size = power == 1 ? sum : std::sqrt(sum);
    if (size == 0.0) return;
    const double off =
        std::ldexp(drawn % 2 == 0 ? 1.0 : -1.0, -7 - static_cast<int>(drawn / 2 % 6));
    for (double& v : row) v *= (1.0 + off) / size;
  }

  /// One of those that there are: processors make one with a sign bit, GPUs one of ones alone.
  [[nodiscard]] double not_a_number(std::uint64_t at) const {
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    constexpr std::uint64_t plain = 0x7ff8000000000000;
    constexpr std::uint64_t ones = 0x7fffffffffffffff;
    const auto drawn = random::bits(choice, at + (std::uint64_t{1} << 44));
    return std::bit_cast<double>((drawn % 2 == 0 ? plain : ones) | (drawn % 4 < 2 ? 0 : sign));
  }

  void far(double way) const {
    each_row(1, [&](auto row, std::size_t n) {
      const int depth = power.depth + (other_half(n) ? power.deeper : 0);
      for (double& v : row) v = way * std::ldexp(1.0 + 0.25 * std::fabs(v), depth);
    });
  }

  std::size_t first_row_;
  std::size_t last_row_;
  std::size_t first_;  ///< Of the numbers.
  std::size_t last_;
};

using Make = void (Stretch::*)() const;

constexpr std::array<std::pair<std::string_view, Make>, 32> makers = {{
    {"normal", &Stretch::normal},
    {"idle", &Stretch::normal},     // Which is about weights.
    {"absent", &Stretch::normal},   // About one of several inputs.
    {"nothing", &Stretch::normal},  // About masks.
    {"uniform", &Stretch::uniform},
    {"bytes", &Stretch::bytes},
    {"x8", &Stretch::scaled<3>},
    {"x64", &Stretch::scaled<6>},
    {"x4096", &Stretch::scaled<12>},
    {"spread", &Stretch::spread},
    {"large_mean", &Stretch::large_mean},
    {"far_below", &Stretch::far_below},
    {"far_above", &Stretch::far_above},
    {"constant", &Stretch::constant},
    {"common_mean", &Stretch::common_mean},
    {"spike", &Stretch::spike},
    {"equal", &Stretch::equal},
    {"sorted", &Stretch::sorted},
    {"sorted_x64", &Stretch::sorted_x64},
    {"denormal", &Stretch::denormal},
    {"tiny", &Stretch::tiny},
    {"faint", &Stretch::faint},
    {"mixed", &Stretch::mixed},
    {"nan", &Stretch::nan},
    {"inf", &Stretch::inf},
    {"nan_and_inf", &Stretch::nan_and_inf},
    {"odd_sign", &Stretch::odd_sign},
    {"again", &Stretch::again},
    {"twins", &Stretch::twins},
    {"lone_nan", &Stretch::lone_nan},
    {"lone_inf", &Stretch::lone_inf},
    {"lone_minus_inf", &Stretch::lone_minus_inf},
}};

}  // namespace

void RowShaper::shape(std::string_view family, std::size_t first_row, std::size_t last_row) const {
  const auto* const found =
      std::ranges::find(makers, family, &std::pair<std::string_view, Make>::first);
  if (found == makers.end()) {
    throw Error(ErrorCode::invalid_argument,
                "there is no family of values '" + std::string(family) + "'");
  }
  (Stretch(*this, first_row, last_row).*found->second)();
}

void RowShaper::scatter() const {
  const auto rows = std::min<std::uint64_t>(most_scattered, layout.rows / rows_for_one);
  const auto first = random::below(level, 0, scattered_first.size());
  for (std::uint64_t i = 0; i < rows; ++i) {
    const auto row = random::below(choice, i, layout.rows);
    const auto family = i < scattered_first.size()
                            ? scattered_first[(first + i) % scattered_first.size()]
                            : patches[random::below(level, 1, patches.size())];
    shape(family, row, row + 1);
  }
  const auto count = numbers.size();
  const auto place = choice + 1;
  const auto strides = random::bits(place, scattered_numbers + 3);
  if (strides % 2 == 0) {
    for (std::uint64_t i = 0; i < scattered_numbers; ++i) {
      numbers[random::below(place, i, count)] *= 64.0;
    }
  } else {
    // One way, and a power of two apart: who keeps a few numbers of each lane keeps few of them.
    const auto stride = std::clamp<std::size_t>(std::bit_floor(layout.cols / 16), 32, 1024);
    const auto at = random::below(place, 0, count);
    const double sign = (strides >> 8) % 2 == 0 ? 64.0 : -64.0;
    for (std::uint64_t i = 0; i < 2 * scattered_numbers; ++i) {
      double& v = numbers[(at + i * stride) % count];
      v = sign * (1.0 + std::fabs(v));
    }
  }
  const auto near = random::below(place, scattered_numbers, std::min<std::uint64_t>(tail, count));
  const std::array<std::size_t, 4> places = {count - 1 - near, count - 1 - near, near,
                                             random::below(place, scattered_numbers + 1, count)};
  double beyond = 0.0;
  for (const double v : numbers) beyond = std::max(beyond, std::fabs(v));
  const auto bits = random::bits(place, scattered_numbers + 2);
  numbers[places[bits >> 1 & 3U]] = (bits & 1U) != 0 ? 1.25 * beyond : -1.25 * beyond;
}

}  // namespace ouroboros::judge
