#include "judge/values/real_marks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/base/random.hpp"
#include "judge/base/tensors.hpp"
#include "judge/values/streams.hpp"

namespace ouroboros::judge {
namespace {

// Streams within that of an input's choices, beside those of integers.cpp, positions.cpp
// and masks.cpp.
enum MarkStream : std::uint64_t { mark_places = 3, mark_left = 4, mark_rows = 11 };

/// Families go beyond smaller ones anyhow, but weights do not.
constexpr double least_beyond = 64.0;

/// Of so many numbers one in three is a sentinel, and one in three about a threshold: they have few
/// cases to meet one in.
constexpr std::size_t few = 8;

/// Their cubes, and those of what is one over them, are in float32's range with room for sums.
constexpr double most_met = 0x1p30;

double as_held(double value, DType dtype) {
  return with_type(dtype,
                   [&]<typename T>(T*) { return static_cast<double>(static_cast<T>(value)); });
}

bool may_be_met(double value, DType dtype) {
  const double most = with_type(
      dtype, []<typename T>(T*) { return static_cast<double>(std::numeric_limits<T>::max()); });
  const double least = std::max(1.0 / most_met, std::ldexp(2.0, format_of(dtype).lowest_exponent));
  return std::fabs(value) >= least && std::fabs(value) <= std::min(most_met, most / 2);
}

/// Those of a dtype beside `value`, and it where the dtype holds it. What is not held who compares
/// with rounds or not, and so does a float32 argument of a kernel in float64: the nearest one may
/// be on either side.
std::vector<double> about(double value, DType dtype) {
  const bool single = as_held(value, DType::float32) == value;
  const auto grid = dtype == DType::float64 && !single ? DType::float32 : dtype;
  const double nearest = as_held(value, grid);
  if (!may_be_met(nearest, dtype)) return {};
  const double step = std::ldexp(format_of(grid).epsilon, std::ilogb(nearest));
  std::vector<double> found = {nearest - step, nearest + step};
  if (nearest == value) found.push_back(value);
  return found;
}

/// Whether an input may have such a number.
bool takes(const Input& input, double value) {
  switch (input.values) {
    case Values::real:
      return true;
    case Values::positive:
      return value > 0.0;
    case Values::angle:
      return std::fabs(value) <= 1.0;
    default:
      return false;
  }
}

}  // namespace

std::vector<double> numbers_at(const RealMark& mark, DType dtype, const Input& of) {
  using enum RealMark::Role;
  if (mark.role == sentinel) {
    // What the dtype cannot hold eager mode rounds, and float64 would never meet.
    const bool held = as_held(mark.value, dtype) == mark.value;
    return held ? std::vector<double>{mark.value} : std::vector<double>();
  }
  auto found = mark.role == threshold ? about(mark.value, dtype) : std::vector<double>();
  if ((of.parameter || std::fabs(mark.value) >= least_beyond) &&
      may_be_met(2.0 * mark.value, dtype)) {
    for (const double twice : {2.0, -2.0}) found.push_back(as_held(twice * mark.value, dtype));
  }
  return found;
}

void fill_real_marks(const std::vector<Input>& inputs, const CaseSpec& spec, std::size_t input,
                     DType dtype, std::size_t cols, bool shrunk, std::vector<double>& out) {
  if (spec.family != "uniform" && spec.family != "patchwork") return;
  double largest = std::numeric_limits<double>::infinity();
  if (shrunk) {
    largest = 0.0;
    for (const double v : out) largest = std::max(largest, std::fabs(v));
  }
  std::vector<double> equal;
  std::vector<double> ordered;
  for (const auto& mark : spec.real_marks) {
    if (mark.input != input) continue;
    const bool sentinel = mark.role == RealMark::Role::sentinel;
    for (const double one : numbers_at(mark, dtype, inputs[input])) {
      if (!takes(inputs[input], one)) continue;
      if (sentinel) {
        equal.push_back(one);
      } else if (std::fabs(one) <= largest) {
        ordered.push_back(one);
      }
    }
  }
  if (equal.empty() && ordered.empty()) return;
  const auto choice = stream(spec, input, choices);
  const auto key = random::key(choice, mark_places);
  const std::uint64_t one_in = out.size() <= few ? 3 : 8;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto drawn = random::bits(key, i);
    const auto kind = drawn % one_in;
    if (kind > 1) continue;
    const auto& from = kind == 0 ? equal : ordered;
    // Beside large numbers a small error is not seen: they leave half of the rows alone.
    const bool alone = random::bits(random::key(choice, mark_rows), i / cols) % 2 != 0;
    if (from.empty() || (kind == 1 && alone && out.size() > few)) continue;
    // Of what is missing throughout a row there is often no result.
    const auto left = random::below(random::key(choice, mark_left), i / cols, cols);
    if (cols > 1 && i % cols == left) continue;
    out[i] = from[(drawn >> 3) % from.size()];
  }
}

}  // namespace ouroboros::judge
