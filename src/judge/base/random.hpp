#pragma once

#include <cstdint>
#include <span>

/// Numbers that depend on a key and a position alone: no state, the same on every machine and with
/// every version of PyTorch, and drawn as fast as memory takes them.
namespace ouroboros::judge::random {

/// The distance of neighbouring positions before they are scrambled: 2^64 over the golden ratio.
inline constexpr std::uint64_t step = 0x9e3779b97f4a7c15ULL;

// The sum of four uniform numbers on {0, ..., 65535} has mean 131070 and variance
// 4 (65536^2 - 1) / 12.
inline constexpr std::int64_t mean_of_sum = 131070;
inline constexpr double standard_deviation = 37837.22758922838;

/// Scrambles 64 bits: a bijection in which every input bit moves every output bit.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// A key for stream number `stream` of `seed`.
[[nodiscard]] constexpr std::uint64_t key(std::uint64_t seed, std::uint64_t stream) noexcept {
  return mix(seed ^ mix(stream * 0xd1342543de82ef95ULL + 0x632be59bd9b4e019ULL));
}

/// The 64 random bits at `position` of the stream `key`.
[[nodiscard]] constexpr std::uint64_t bits(std::uint64_t key, std::uint64_t position) noexcept {
  return mix(key + (position + 1) * step);
}

/// A number in [0, 1) at `position`, with 53 random bits.
[[nodiscard]] constexpr double uniform(std::uint64_t key, std::uint64_t position) noexcept {
  return static_cast<double>(bits(key, position) >> 11) * 0x1p-53;
}

/// An integer in [0, bound) at `position`. `bound` is at least 1 and below 2^32.
[[nodiscard]] constexpr std::uint64_t below(std::uint64_t key, std::uint64_t position,
                                            std::uint64_t bound) noexcept {
  return ((bits(key, position) >> 32) * bound) >> 32;
}

/// Fills `out` with numbers of mean 0 and variance 1: the sum of four uniform 16-bit numbers of one
/// hash, scaled. Bell-shaped, within +-3.47, with 262141 different values.
void normal(std::uint64_t key, std::span<float> out) noexcept;

/// As above, with 32 more random bits below the 16 of each term's sum, so that no value fits into a
/// float32: an implementation that narrows its inputs shows.
void normal(std::uint64_t key, std::span<double> out) noexcept;

}  // namespace ouroboros::judge::random
