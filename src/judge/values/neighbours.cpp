#include "judge/values/neighbours.hpp"

#include <algorithm>

#include "judge/base/random.hpp"
#include "judge/values/streams.hpp"

namespace ouroboros::judge {
namespace {

// Streams within what all inputs of a case share.
enum NeighbourStream : std::uint64_t { of_base = 4, of_places = 5 };

/// Within that of an input's choices, beside those of real_marks.cpp.
constexpr std::uint64_t of_neighbours = 12;

/// Of those that a half of an int64 takes for one number.
constexpr std::uint64_t low_half = std::uint64_t{1} << 32;

/// Far from where the rounding changes, by two on either side.
std::int64_t base_of(const CaseSpec& spec, DType dtype) {
  const bool narrow = dtype == DType::int32;
  const int bits = narrow ? 31 : 63;
  const int step_bits = bits - (narrow ? 24 : 53);  // Of the float's last place up there.
  const auto step = std::uint64_t{1} << step_bits;
  const auto key = random::key(stream(spec, 0, kinds), of_base);
  const auto least = (std::uint64_t{1} << bits) - (std::uint64_t{1} << (bits - 5));
  const auto steps = random::below(key, 0, std::uint64_t{1} << 18);
  return static_cast<std::int64_t>(least + steps * step + 2 + random::below(key, 1, step / 2 - 4));
}

}  // namespace

void put_neighbour(const CaseSpec& spec, std::size_t input, DType dtype, std::size_t at,
                   std::int64_t& value) {
  const auto base = base_of(spec, dtype);
  const auto drawn = random::bits(random::key(stream(spec, 0, kinds), of_places), at);
  if (drawn % 4 != 0) {
    value = std::clamp(value, 2 - base, base - 2);
    return;
  }
  const auto which = static_cast<std::int64_t>(
      random::below(random::key(stream(spec, input, choices), of_neighbours), at, 3));
  if (dtype == DType::int64 && (drawn & 8U) != 0) {
    value = (static_cast<std::int64_t>(low_half) * which) + (base % 4096);
    return;
  }
  const auto by = which - 1;
  value = (drawn & 4U) != 0 ? base + by : by - base;
}

}  // namespace ouroboros::judge
