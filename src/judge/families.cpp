#include "judge/families.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "judge/exact_integers.hpp"
#include "judge/masks.hpp"
#include "judge/random.hpp"
#include "judge/random_tensors.hpp"
#include "judge/real_marks.hpp"
#include "judge/streams.hpp"
#include "judge/tensors.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::judge {
namespace {

struct Layout {
  std::size_t rows = 1;
  std::size_t cols = 1;  ///< Extent of the last dimension.
};

Layout layout_of(const at::Tensor& tensor) noexcept {
  Layout layout;
  layout.cols = tensor.dim() == 0 ? 1 : static_cast<std::size_t>(tensor.size(-1));
  const auto elements = static_cast<std::size_t>(tensor.numel());
  layout.rows = layout.cols == 0 ? 0 : elements / layout.cols;
  return layout;
}

/// Whether rows get families of their own: all of them, or a few.
bool is_mixture(const CaseSpec& spec) noexcept {
  return spec.family == "patchwork" || spec.family == "scattered";
}

/// What has one dimension has no rows: mixtures take so many numbers for one.
Layout patched(const CaseSpec& spec, const at::Tensor& tensor) noexcept {
  constexpr std::size_t stretch = 64;
  const auto layout = layout_of(tensor);
  if (!is_mixture(spec) || tensor.dim() != 1 || layout.cols < 2 * stretch) return layout;
  return {layout.cols / stretch, stretch};
}

/// Powers of two that put a family where it belongs in each dtype.
struct Exponents {
  int denormal;
  int tiny;
  int tiniest;  ///< Its square is a normal number where one computes.
  int mean;
  int overflow;  ///< Its exponential is infinite where one computes.
  int tallest;
  int depth;  ///< Rows below its negative, or above it, are beyond what masks and extrema begin
              ///< with.
  int mixed_low;
  int mixed_high;
  int white;  ///< Bytes are all smaller than it.
  int near;   ///< From 3 to a number that few bits tell from it: eight steps, of short ones fewer.
};

Exponents exponents_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::float16:
      return {-17, -8, -13, 7, 7, 13, 15, -10, 4, 8, -6};
    case DType::bfloat16:
      return {-131, -10, -60, 4, 14, 16, 16, -20, 8, 8, -4};
    case DType::float8_e4m3fn:
      return {-8, -3, -5, 3, 7, 8, 7, -6, 4, 8, -2};
    case DType::float8_e5m2:
      return {-16, -6, -12, 2, 7, 14, 14, -12, 8, 8, -1};
    case DType::float64:
      return {-1027, -10, -500, 11, 14, 16, 16, -20, 8, 8, -48};
    default:
      return {-131, -10, -60, 11, 14, 16, 16, -20, 8, 8, -19};
  }
}

/// Of numbers that become scores, where a family's largest one may meet another input's.
constexpr double largest_to_score = 0x1p10;

/// Those of numbers that become scores. Of two such, added up over a head and scaled as an
/// attention's, little is above 2^16, where float32 still tells hundredths apart: who puts parts
/// together by logarithms of their sums keeps these.
Exponents of_scores(Exponents power) noexcept {
  power.mean = std::min(power.mean, 6);
  power.overflow = std::min(power.overflow, 8);
  power.tallest = power.overflow;
  power.depth = power.mean;
  power.mixed_high = std::min(power.mixed_high, 6);
  power.white = 6;
  return power;
}

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

/// What the rows of a mixture look like: the first eight are what the shortest patchwork has, or
/// the last eight.
constexpr std::array<std::string_view, 16> patches = {
    "uniform", "x64", "large_mean", "spike", "equal", "tiny",      "mixed", "sorted_x64",
    "bytes",   "x64", "large_mean", "spike", "equal", "far_below", "mixed", "odd_sign"};

/// Of "scattered": one row in so many, and so many at most, is of a family of its own. The first
/// ones show what costs most to get right: a mean far from zero, and exponentials that overflow.
constexpr std::size_t rows_for_one = 8;
constexpr std::uint64_t most_scattered = 4;
constexpr std::array<std::string_view, 3> scattered_first = {"large_mean", "x64", "spike"};
constexpr std::uint64_t scattered_numbers = 4;

/// The largest or smallest of all numbers is one of so many at an end.
constexpr std::uint64_t tail = 64;

/// Turns rows of about N(0, 1) into rows of a family.
struct RowShaper {
  const Layout& layout;
  Exponents power;
  std::uint64_t choice;  ///< Random stream of positions.
  std::uint64_t level;   ///< Random stream of magnitudes.
  std::size_t kind;      ///< With a row's number added it says of what kind the row is.
  std::vector<double>& numbers;

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

  /// Ordinary numbers but for a few rows, a few numbers, and one beyond all others, often near an
  /// end: who looks at some takes all for ordinary, and who skips a tail misses the largest.
  void scatter() const {
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

  void shape(std::string_view family, std::size_t first_row, std::size_t last_row) const {
    const std::size_t first = first_row * layout.cols;
    const std::size_t last = last_row * layout.cols;
    const auto each = [&](auto&& change) {
      for (std::size_t i = first; i < last; ++i) change(numbers[i], i);
    };
    const auto each_row = [&](std::size_t step, auto&& change) {
      for (std::size_t row = first_row; row < last_row; row += step) {
        change(std::span(numbers).subspan(row * layout.cols, layout.cols), kind + row);
      }
    };
    const auto scale = [&](double factor) {
      each([factor](double& v, std::size_t) { v *= factor; });
    };
    if (family == "normal" || family == "idle") {  // Which is about weights.
      return;
    }
    if (family == "uniform") {
      // From 0 to 1, as images and probabilities; from -1 to 1, as such that are centred; as after
      // a ReLU; or padded.
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
    } else if (family == "bytes") {
      // As images have them that nobody has scaled; in half of the rows all but white.
      const double end = std::ldexp(1.0, power.white);
      each_row(1, [&](auto row, std::size_t n) {
        const std::uint64_t begin = n * layout.cols;
        for (std::size_t i = 0; i < row.size(); ++i) {
          const double share = random::uniform(level, begin + i);
          row[i] = !other_half(n) ? std::floor(end * share) : end - (share < 1.0 / 16 ? 2.0 : 1.0);
        }
      });
    } else if (family == "x8") {
      scale(8.0);
    } else if (family == "x64") {
      scale(64.0);
    } else if (family == "x4096") {
      scale(4096.0);
    } else if (family == "spread") {
      // Exponentials of which many are small, and matter together: in `normal` none are, and in
      // `x64` few of a row are more than zero. Products of two such inputs spread as `x8` does.
      // In every other row all but one are small, and together from e^-11 to e^-4 of that one.
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
    } else if (family == "large_mean") {
      // Half of the rows far below zero: a maximum that starts at zero would stay there.
      const double mean = std::ldexp(1.0, power.mean);
      each_row(1, [mean](auto row, std::size_t n) {
        for (double& v : row) v += other_half(n) ? -mean : mean;
      });
    } else if (family == "far_below" || family == "far_above") {
      // As masks leave whole rows: a maximum that starts at -1e4, or at the least number of
      // float16, stays there, and so does a minimum that starts at 1e4.
      const double way = family == "far_below" ? -1.0 : 1.0;
      each([&](double& v, std::size_t) {
        v = way * std::ldexp(1.0 + 0.25 * std::fabs(v), power.depth);
      });
    } else if (family == "constant") {
      // One number throughout, of few bits so that plain sums of its squares are exact: sixteenths,
      // or zero. What is rounded is off the same way everywhere, and counters overflow.
      const auto steps = random::below(choice, 0, 3) == 0 ? 0.0 : 64.0;
      const double one = std::nearbyint((2.0 * random::uniform(level, 0) - 1.0) * steps) / 16.0;
      each([one](double& v, std::size_t) { v = one; });
    } else if (family == "common_mean") {
      // Of all rows: sums over several of them cancel as those over one do. No power of two, which
      // any format holds: rounded to few bits all numbers are off the same way.
      const double size = 1.0 - 0.25 * random::uniform(level, 0);
      const double mean = std::ldexp(random::below(choice, 0, 2) == 0 ? size : -size, power.mean);
      each([mean](double& v, std::size_t) { v += mean; });
    } else if (family == "spike") {
      // One that leaves the others their exponentials, and in half of these rows a part of their
      // sum, however far below it they lie as a whole; in half of the rows one that overflows where
      // it was not among those that the maximum was taken of, and its neighbour one less: a clamp
      // makes them equal. How much more than that it is, no clamp knows. Every other pair of rows
      // looks ordinary but for that.
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
    } else if (family == "equal") {
      // One number for all rows but for every second pair of them. Who looks at the first, the last
      // and the one in the middle takes all for equal.
      const bool several = last_row - first_row > 1 && first < last;
      const double of_all = several ? numbers[first] : 0.0;
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
    } else if (family == "sorted" || family == "sorted_x64") {
      // Up or down. In half of the rows two are out of order, the largest and the smallest: they
      // are not where one looks for them, which is at the ends.
      if (family == "sorted_x64") scale(64.0);
      each_row(1, [&](auto row, std::size_t n) {
        std::sort(row.begin(), row.end());
        const auto [smallest, largest] = std::pair(row.front(), row.back());
        if (other_half(n / 2)) std::reverse(row.begin(), row.end());
        if (!other_half(n)) return;
        const auto at = row.size() / 8 + random::below(choice, n, row.size() - row.size() / 4);
        row[row.size() - 1 - at] = 1.25 * smallest - 96.0;
        row[at] = 1.25 * largest + 96.0;
      });
    } else if (family == "denormal") {
      scale(std::ldexp(1.0, power.denormal));
    } else if (family == "tiny") {
      each_row(1, [&](auto row, std::size_t n) {
        const double factor = std::ldexp(1.0, often_first(power.tiny, power.tiniest, n));
        for (double& v : row) v *= factor;
      });
    } else if (family == "faint") {
      // All rows alike: beside larger results a few small ones share their bounds.
      const int above = static_cast<int>(random::below(level, 0, 8));
      scale(std::ldexp(1.0, std::min(power.tiniest + above, power.tiny)));
    } else if (family == "mixed") {
      const auto span = static_cast<std::uint64_t>(power.mixed_high - power.mixed_low + 1);
      each([&](double& v, std::size_t i) {
        v = std::ldexp(v, power.mixed_low + static_cast<int>(random::below(level, i, span)));
      });
    } else if (family == "nan" || family == "inf") {
      // Every other row stays clean, so that a candidate cannot answer with NaN throughout.
      constexpr double infinity = std::numeric_limits<double>::infinity();
      each_row(2, [&](auto row, std::size_t n) {
        const auto at = random::below(choice, n, row.size());
        if (family == "nan") {
          row[at] = not_a_number(n * layout.cols);
          // In half of these rows it is not the only one, and in some of them most are.
          const auto share = other_half(n / 4) ? 6U : 2U;
          for (std::size_t i = 0; other_half(n / 2) && i < row.size(); ++i) {
            const auto place = n * layout.cols + i;
            if (random::bits(level, place) % 8 < share) row[i] = not_a_number(place);
          }
        } else if (!other_half(n / 2)) {
          row[at] = std::copysign(infinity, row[at]);
        } else {
          // As masks leave it: nothing up to some place, or from there on.
          const auto middle = row.begin() + static_cast<std::ptrdiff_t>(at);
          const bool above = other_half(n / 4);
          std::fill(above ? row.begin() : middle + 1, above ? middle : row.end(), -infinity);
        }
      });
    } else if (family == "odd_sign") {
      // All of one sign but for one number: who asks some of them whether any is below zero, or
      // all are, has the wrong answer.
      each_row(1, [&](auto row, std::size_t n) {
        const double sign = other_half(n) ? 1.0 : -1.0;
        for (double& v : row) v = std::copysign(v, sign);
        double& odd = row[random::below(choice, n, row.size())];
        odd = std::copysign(std::max(std::fabs(odd), 0.5), -sign);
      });
    } else if (family == "again") {
      // But for one number in one row of eight: who knows inputs by some of their elements has met
      // these, and the fewer are others, the less often it knows them by one that is.
      const auto apart = std::min<std::size_t>(8, last_row - first_row);
      const auto row_of_them = random::below(level, 0, apart);
      for (std::size_t row = first_row + row_of_them; row < last_row; row += apart) {
        numbers[row * layout.cols + random::below(choice, row, layout.cols)] *= -2.0;
      }
    } else if (family == "twins") {
      // But for one number in each row: who takes them for the same by a look is wrong in all.
      each_row(1,
               [&](auto row, std::size_t n) { row[random::below(choice, n, row.size())] *= -2.0; });
    } else if (family == "lone_nan" || family == "lone_inf") {
      // One of all numbers: who looks at some of them does not see it.
      double& v = numbers[first + random::below(choice, 0, last - first)];
      v = family == "lone_nan" ? not_a_number(0)
                               : std::copysign(std::numeric_limits<double>::infinity(), v);
    } else {
      throw Error(ErrorCode::invalid_argument,
                  "there is no family of values '" + std::string(family) + "'");
    }
  }
};

std::size_t patch_of(const CaseSpec& spec, std::size_t input, std::size_t row) noexcept {
  return (row + stream(spec, input, choices)) % patches.size();
}

/// "patchwork" gives rows families of their own.
std::string_view family_of_row(const CaseSpec& spec, std::size_t input, std::size_t row) noexcept {
  if (spec.family != "patchwork") return spec.family;
  return patches[patch_of(spec, input, row)];
}

/// Whether no other input of real values is there to be multiplied with: products of two very tall
/// ones leave float32 nothing to tell close scores apart with. Masks of bools leave it as it is.
bool is_alone(const Problem& problem) {
  return std::count_if(problem.inputs.begin(), problem.inputs.end(), [](const Input& input) {
           return input.values == Values::real && !input.parameter && input.dtype != DType::boolean;
         }) == 1;
}

/// Which dimension of an input has the axis that rows lie along; -1 where it is the last anyhow.
std::int64_t place_along(const Input& input, const CaseSpec& spec) {
  if (spec.along.empty()) return -1;
  for (std::size_t i = 0; i + 1 < input.shape.size(); ++i) {
    if (input.shape[i].axis == spec.along) return static_cast<std::int64_t>(i);
  }
  return -1;
}

/// What is added to a size that has to be positive. Families of small numbers keep theirs.
double least_positive(const CaseSpec& spec, DType dtype, int shrink) {
  const bool small = spec.family == "tiny" || spec.family == "mixed" || is_mixture(spec);
  if (!small) return 0x1p-6;
  // Quotients that overflow want larger divisors.
  return std::ldexp(1.0, std::min(-6, exponents_of(dtype).tiniest + 4 * shrink));
}

/// The first of the inputs before this one that can hold the same numbers.
std::optional<std::size_t> twin_of(const Problem& problem, std::size_t input) {
  const auto extent = [](const Dim& dim) { return std::pair(dim.scale, dim.axis); };
  const auto& one = problem.inputs[input];
  for (std::size_t i = 0; i < input; ++i) {
    const auto& other = problem.inputs[i];
    if (one.values == Values::real && other.values == Values::real && !one.parameter &&
        !other.parameter && one.dtype == other.dtype &&
        std::ranges::equal(one.shape, other.shape, {}, extent, extent)) {
      return i;
    }
  }
  return std::nullopt;
}

/// The first inputs of real values whose rows are as long as one another's, and so may be
/// multiplied to scores; none where there is one alone.
std::vector<std::size_t> scoring(const Problem& problem) {
  const auto is_one = [&](std::size_t i) {
    const auto& input = problem.inputs[i];
    return input.values == Values::real && !input.parameter && input.shape.size() >= 2;
  };
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    if (!is_one(i)) continue;
    const auto& length = problem.inputs[i].shape.back();
    std::vector<std::size_t> found;
    for (std::size_t j = i; j < problem.inputs.size(); ++j) {
      const auto& other = problem.inputs[j].shape.back();
      if (is_one(j) && other.axis == length.axis && other.scale == length.scale) found.push_back(j);
    }
    if (found.size() >= 2) return found;
  }
  return {};
}

/// A large number in a few rows, at one place, where all rows of the first input have one too. A
/// score of the two, scaled as an attention's, lies 8 to 16 above all others, which add up to
/// something however far below they are. How far is the same for neighbours: they share a tile.
void add_sinks(const Problem& problem, const CaseSpec& spec, std::size_t input,
               const Layout& layout, std::vector<double>& numbers) {
  constexpr std::size_t neighbours = 128;
  constexpr double least = 8.0;
  const auto inputs = scoring(problem);
  if (std::ranges::find(inputs, input) == inputs.end()) return;
  const auto place = random::below(stream(spec, 0, kinds), 3, layout.cols);
  const auto one_in = std::clamp<std::uint64_t>(layout.rows / 4, 4, 256);
  const double high = std::sqrt(least * std::sqrt(static_cast<double>(layout.cols)));
  for (std::size_t row = 0; row < layout.rows; ++row) {
    double& v = numbers[row * layout.cols + place];
    if (input == inputs.front()) {
      v = high * (1.0 + random::uniform(stream(spec, input, levels), row / neighbours));
    } else {
      v = random::below(stream(spec, input, choices), row, one_in) == 0 ? high : 0.0;
    }
  }
}

/// Real values of a family as float64: small cases only, so clarity before speed.
std::vector<double> real_values(const Problem& problem, const CaseSpec& spec, std::size_t input,
                                DType dtype, const Layout& layout, std::size_t count) {
  std::vector<double> out(count);
  const auto from = spec.family == "twins" ? twin_of(problem, input).value_or(input) : input;
  const auto key = stream(spec, from, values);
  if (dtype == DType::float64) {
    random::normal(key, std::span<double>(out));
  } else {
    std::vector<float> floats(count);
    random::normal(key, std::span<float>(floats));
    std::copy(floats.begin(), floats.end(), out.begin());
  }
  auto power = exponents_of(dtype);
  if (is_alone(problem)) {
    power.mixed_high = power.tallest - 2;  // Times up to 3.5.
  } else {
    power.tallest = power.overflow;
    power.depth = power.mean;
  }
  const bool scores = spec.scores && dtype != DType::float64;
  if (scores) power = of_scores(power);
  // A single row is of any kind, in all inputs of the same.
  const bool single = layout.rows == 1 && !is_mixture(spec);
  const auto kind = single ? random::below(stream(spec, 0, kinds), 0, 64) : 0;
  RowShaper shaper{layout, power, stream(spec, input, choices), stream(spec, input, levels),
                   kind,   out};
  if (spec.family == "scattered") {
    shaper.scatter();
    // Infinity is another family's.
    const double finite = with_type(
        dtype, []<typename T>(T*) { return static_cast<double>(std::numeric_limits<T>::max()); });
    const double largest = scores ? std::min(finite, largest_to_score) : finite;
    for (double& v : out) v = std::clamp(v, -largest, largest);
    return out;
  }
  if (spec.family == "twins" && from == input) return out;
  if (spec.family == "sink") {
    add_sinks(problem, spec, input, layout, out);
    return out;
  }
  if (spec.family != "patchwork") {
    shaper.shape(spec.family, 0, layout.rows);
    if (spec.family == "uniform" && layout.rows >= 4) {
      // Who looks whether rows are alike finds the first ones so.
      const auto alike = 2 + random::below(stream(spec, 0, kinds), 1, layout.rows / 2 - 1);
      const auto row = static_cast<std::ptrdiff_t>(layout.cols);
      for (std::ptrdiff_t i = 1; i < static_cast<std::ptrdiff_t>(std::min<std::size_t>(alike, 8));
           ++i) {
        std::copy_n(out.begin(), row, out.begin() + i * row);
      }
    }
    return out;
  }
  // Of a family's rows, wherever they stand, each is of the next kind.
  const auto first = random::below(stream(spec, input, kinds), 4, 64);
  for (std::size_t row = 0; row < layout.rows; ++row) {
    const auto patch = patch_of(spec, input, row);
    shaper.kind = (patch << 32) + first + row / patches.size() - row;
    shaper.shape(patches[patch], row, row + 1);
  }
  return out;
}

/// Cosines and sines: from -1 to 1.
void fill_angles(const CaseSpec& spec, std::size_t input, std::size_t cols,
                 std::vector<double>& out) {
  const auto key = stream(spec, input, values);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = 2.0 * random::uniform(key, i) - 1.0;
  // As tables of cosines and sines begin, in half of the cases: with ones or zeros.
  const auto bits = random::bits(stream(spec, 0, kinds), 2);
  if (spec.family != "normal" && (bits & 1U) != 0) {
    std::fill_n(out.begin(), std::min(cols, out.size()),
                static_cast<double>(bits >> (1 + input) & 1U));
  }
}

void fill_parameter(const CaseSpec& spec, std::size_t input, std::vector<double>& out) {
  // Near plus or minus one: of zero mean, far from zero, and no two alike. That shows a weight that
  // is left out as well as a bias that is.
  const auto key = stream(spec, input, values);
  const auto sign = stream(spec, input, choices);
  random::normal(key, std::span<double>(out));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double magnitude = 1.0 + 0.125 * out[i];
    const auto bits = random::bits(sign, i);
    out[i] = (bits & 1U) != 0 ? magnitude : -magnitude;
    // One in sixteen far from one: a clamp of the others is seen.
    if ((bits >> 1 & 15U) == 0) out[i] = std::ldexp(out[i], static_cast<int>(bits >> 8 & 7U) - 4);
  }
  // In half of the cases what does nothing stands where one might look whether all do nothing: ones
  // or zeros at both ends and in the middle, a scalar that is nearly one.
  constexpr std::size_t looked_at = 3;
  const auto kind = random::below(stream(spec, input, levels), 0, 4);
  if (kind >= 2) return;
  const double idle = kind == 0 ? 1.0 : 0.0;
  if (out.size() == 1 && kind == 0) {
    out[0] = 1.0 + std::ldexp(out[0], -7);
  } else if (out.size() > 4 * looked_at) {
    std::fill_n(out.begin(), looked_at, idle);
    std::fill_n(out.end() - looked_at, looked_at, idle);
    out[out.size() / 2] = idle;
  }
}

/// But for one number they do nothing, as layers begin: the first weight of ones, others of zeros.
void fill_idle(const Problem& problem, const CaseSpec& spec, std::size_t input,
               std::vector<double>& out) {
  const auto first = std::ranges::find_if(problem.inputs, &Input::parameter);
  std::ranges::fill(out, &*first == &problem.inputs[input] ? 1.0 : 0.0);
  out[random::below(stream(spec, input, choices), 0, out.size())] = -1.25;
}

bool points(const Input& input) noexcept {
  return input.values == Values::index || input.values == Values::length;
}

/// Indices and lengths lie in [least, end).
struct Bounds {
  std::uint64_t least;
  std::uint64_t end;
};

/// Ordinary lengths are not zero, and others are not where the reference wants something of each.
Bounds bounds_of(const Problem& problem, const CaseSpec& spec, std::size_t input) {
  const auto& one = problem.inputs[input];
  const auto extent = static_cast<std::uint64_t>(
      one.index_axis.empty() ? 1 : value_of(one.index_axis, problem, spec.axes));
  if (one.values == Values::index) return {0, std::max<std::uint64_t>(1, extent)};
  const bool some = extent > 0 && (spec.family == "normal" || wants_some(spec, input));
  return {some ? 1U : 0U, extent + 1};
}

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

/// Puts what somebody's code asks for, or what is next to it, in one place of eight, where it lies
/// in [least, end).
void fill_marks(const CaseSpec& spec, std::size_t input, std::int64_t least, std::int64_t end,
                std::vector<std::int64_t>& out) {
  std::vector<std::int64_t> near;
  for (const auto mark : spec.marks) {
    for (const auto one : {mark, mark - 1, mark, mark + 1}) {
      if (one >= least && one < end) near.push_back(one);
    }
  }
  if (near.empty() || spec.family == "equal") return;
  const auto key = random::key(stream(spec, input, choices), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto drawn = random::bits(key, i);
    if (drawn % 8 == 0) out[i] = near[(drawn >> 3) % near.size()];
  }
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
  } else if (spec.family == "mixed") {
    for (std::size_t i = 1; i < out.size(); i += 2) out[i] = out[i - 1];
  }
}

bool is_distinct(const CaseSpec& spec, std::size_t input) {
  return std::ranges::find(spec.distinct, input) != spec.distinct.end();
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

std::vector<std::int64_t> index_values(const Problem& problem, const CaseSpec& spec,
                                       std::size_t input, std::size_t cols, std::size_t count) {
  const auto [least, end] = bounds_of(problem, spec, input);
  const auto numbers = end - least;
  const auto key = stream(spec, input, values);
  std::vector<std::int64_t> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<std::int64_t>(random::below(key, i, numbers));
  }
  const bool lengths = problem.inputs[input].values == Values::length;
  if (!lengths && (spec.family == "patchwork" || spec.family == "uniform")) {
    fill_sequences(out, cols, numbers, stream(spec, input, choices));
  }
  for (auto& one : out) one += static_cast<std::int64_t>(least);
  const auto& padding = problem.inputs[input].padding;
  const bool plain = spec.family == "normal";  // Which a GPU draws as well, as they are.
  if (!plain) change_indices(spec, input, {least, end}, lengths, out);
  if (padding) fill_padding(spec, input, cols, *padding, out);
  if (is_distinct(spec, input)) {
    tell_apart(cols, end, random::key(stream(spec, input, choices), 10), out);
  }
  return out;
}

/// An integer that is a value, not a position: of the family's scale, within the dtype's range.
double whole_value(double v, DType dtype) noexcept {
  switch (dtype) {
    case DType::boolean:
      return v > 0.0 ? 1.0 : 0.0;
    case DType::int8:
      return std::nearbyint(std::clamp(v * 32.0, -128.0, 127.0));
    case DType::uint8:
      return std::nearbyint(std::clamp(128.0 + v * 32.0, 0.0, 255.0));
    default:
      return std::nearbyint(std::clamp(v * 32.0, -4e6, 4e6));
  }
}

/// What an integer dtype holds, without the last one of int64.
std::pair<std::int64_t, std::int64_t> range_of(DType dtype) {
  if (dtype == DType::uint8) return {0, 256};
  const auto bits = 8 * size_of(dtype);
  const auto most = std::numeric_limits<std::int64_t>::max() >> (64 - bits);
  return {-most - 1, bits == 64 ? most : most + 1};
}

/// Integers that are values, not positions. Of int32 and int64 those that are mixed have all sizes
/// that the dtype has, and some are neighbours.
std::vector<std::int64_t> whole_values(const Problem& problem, const CaseSpec& spec,
                                       std::size_t input, DType dtype, const Layout& layout,
                                       std::size_t count) {
  const bool narrow = dtype == DType::int8 || dtype == DType::uint8;
  auto numbers = real_values(problem, spec, input, DType::float32, layout, count);
  if (narrow && spec.family == "common_mean") {
    // Large, of one sign and no two alike: their sums have many bits, none of them zero.
    auto around = spec;
    around.family = "normal";
    numbers = real_values(problem, around, input, DType::float32, layout, count);
    const bool below =
        dtype == DType::int8 && random::below(stream(spec, input, choices), 0, 2) == 0;
    const double mean = below ? -3.0 : 3.0;
    for (double& v : numbers) v = mean + 0.5 * v;
  }
  const bool wide = dtype == DType::int32 || dtype == DType::int64;
  const bool exact = wide && std::ranges::find(spec.exact, input) != spec.exact.end();
  const auto bits = static_cast<std::uint64_t>(8 * size_of(dtype));
  const auto key = stream(spec, input, values);
  const auto size = stream(spec, input, levels);
  std::vector<std::int64_t> out(numbers.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (wide && family_of_row(spec, input, i / layout.cols) == "mixed") {
      out[i] = static_cast<std::int64_t>(random::bits(key, i)) >>
               (64 - bits + random::below(size, i, bits));
      if (exact) put_neighbour(spec, input, dtype, i, out[i]);
    } else {
      out[i] = static_cast<std::int64_t>(whole_value(numbers[i], dtype));
    }
  }
  if (spec.family != "normal" && dtype != DType::boolean) {
    const auto [least, end] = range_of(dtype);
    fill_marks(spec, input, least, end, out);
  }
  return out;
}

template <typename From, typename To>
void store(const std::vector<From>& from, To* to) noexcept {
  std::transform(from.begin(), from.end(), to, [](From v) { return static_cast<To>(v); });
}

template <typename From>
void store(const std::vector<From>& from, DType dtype, const at::Tensor& into) {
  with_type(dtype, [&]<typename T>(T*) { store(from, static_cast<T*>(into.mutable_data_ptr())); });
}

void draw_fast_normal(std::uint64_t key, DType dtype, const at::Tensor& into) {
  const auto count = static_cast<std::size_t>(into.numel());
  if (dtype == DType::float32) {
    random::normal(key, std::span<float>(into.mutable_data_ptr<float>(), count));
  } else if (dtype == DType::float64) {
    random::normal(key, std::span<double>(into.mutable_data_ptr<double>(), count));
  } else {
    std::vector<float> floats(count);
    random::normal(key, std::span<float>(floats));
    store(floats, dtype, into);
  }
}

}  // namespace

std::vector<std::string> families(const Problem& problem, DType dtype) {
  if (!is_floating(dtype)) {
    std::vector<std::string> names = {"normal", "x8",     "x64",   "spike",
                                      "equal",  "sorted", "mixed", "odd_sign"};
    const bool wide = dtype == DType::int32 || dtype == DType::int64;
    if (wide && is_alone(problem)) names.insert(names.end(), {"far_below", "far_above"});
    return names;
  }
  // What overflows float32 is harmless in float64, which therefore gets larger numbers.
  std::vector<std::string> names = {
      "normal",   "uniform",    dtype == DType::float64 ? "x4096" : "x8",
      "x64",      "large_mean", "common_mean",
      "spike",    "equal",      "sorted",
      "denormal", "tiny",       "faint",
      "mixed",    "odd_sign",   "bytes"};
  if (is_alone(problem)) names.insert(names.end(), {"far_below", "far_above"});
  if (problem.policies.nan_meaningful) names.emplace_back("nan");
  if (problem.policies.inf_meaningful) names.emplace_back("inf");
  return names;
}

std::vector<std::string> lone_families(const Problem& problem, DType dtype) {
  std::vector<std::string> names;
  if (!is_floating(dtype)) return names;
  if (problem.policies.nan_meaningful) names.emplace_back("lone_nan");
  if (problem.policies.inf_meaningful) names.emplace_back("lone_inf");
  return names;
}

std::string whole_family(const Problem& problem, std::uint64_t seed) {
  constexpr std::array<std::string_view, 5> names = {"common_mean", "faint", "uniform",
                                                     "large_mean", "odd_sign"};
  const bool paired = has_twins(problem);
  const auto drawn = random::below(random::key(seed, 0), 0, names.size() + (paired ? 1 : 0));
  return std::string(drawn < names.size() ? names[drawn] : "twins");
}

bool has_twins(const Problem& problem) {
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    if (twin_of(problem, i)) return true;
  }
  return false;
}

bool may_score(const Problem& problem) { return !scoring(problem).empty(); }

std::string family_name(const CaseSpec& spec) {
  return spec.along.empty() ? spec.family : spec.family + " along " + spec.along;
}

void draw_input(const Problem& problem, const CaseSpec& spec, std::size_t index, int shrink,
                const at::Tensor& into) {
  if (into.numel() == 0) return;
  if (is_drawn_as_mask(problem, spec, index)) return draw_mask(problem, spec, index, into);
  if (const auto place = place_along(problem.inputs[index], spec); place >= 0) {
    const auto turned = into.transpose(place, -1);
    const auto drawn = empty(turned.sizes().vec(), into.scalar_type(), into.device());
    auto rows = spec;
    rows.along.clear();
    rows.masks.clear();
    draw_input(problem, rows, index, shrink, drawn);
    turned.copy_(drawn);
    leave_some(spec, index, into);
    return;
  }
  const auto& input = problem.inputs[index];
  const auto dtype = dtype_of(input, spec.dtype);
  const auto count = static_cast<std::size_t>(into.numel());
  const bool plain = is_floating(dtype) && input.values == Values::real && !input.parameter;
  const bool fast = plain && spec.family == "normal" && shrink == 0;
  if (!into.is_cpu()) {
    const auto key = stream(spec, index, values);
    if (fast) return random::fill_normal(key, into);
    if (input.values == Values::angle && spec.family == "normal") {
      return random::fill_uniform(key, into);
    }
    if (points(input) && !input.padding && !is_distinct(spec, index) && spec.family == "normal") {
      const auto [least, end] = bounds_of(problem, spec, index);
      random::fill_below(key, end - least, into);
      if (least != 0) into.add_(static_cast<std::int64_t>(least));
      return;
    }
    // All others are small, or drawn once a cell: they are made here and brought there.
    const auto here = empty(into.sizes().vec(), into.scalar_type());
    draw_input(problem, spec, index, shrink, here);
    into.copy_(here);
    return;
  }
  if (points(input)) {
    store(index_values(problem, spec, index, layout_of(into).cols, count), dtype, into);
    return;
  }
  if (!is_floating(dtype)) {
    store(whole_values(problem, spec, index, dtype, patched(spec, into), count), dtype, into);
    leave_some(spec, index, into);
    return;
  }
  if (fast) {
    draw_fast_normal(stream(spec, index, values), dtype, into);
    return;
  }
  std::vector<double> numbers(count);
  if (input.values == Values::angle) {
    fill_angles(spec, index, layout_of(into).cols, numbers);
  } else if (input.parameter) {
    if (spec.family == "idle") {
      fill_idle(problem, spec, index, numbers);
    } else {
      fill_parameter(spec, index, numbers);
    }
  } else {
    numbers = real_values(problem, spec, index, dtype, patched(spec, into), count);
    if (shrink != 0) {
      for (auto& v : numbers) v = std::ldexp(v, -shrink);
    }
  }
  if (input.values == Values::real && !input.parameter) {
    fill_real_marks(spec, index, dtype, layout_of(into).cols, shrink != 0, numbers);
  }
  if (input.values == Values::positive) {
    const double least = least_positive(spec, dtype, shrink);
    for (auto& v : numbers) v = std::fabs(v) + least;
  }
  store(numbers, dtype, into);
}

}  // namespace ouroboros::judge
