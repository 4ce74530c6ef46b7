#include "judge/values/integers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "judge/base/random.hpp"
#include "judge/values/mixtures.hpp"
#include "judge/values/neighbours.hpp"
#include "judge/values/real_values.hpp"
#include "judge/values/streams.hpp"

namespace ouroboros::judge {
namespace {

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

}  // namespace

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

}  // namespace ouroboros::judge
