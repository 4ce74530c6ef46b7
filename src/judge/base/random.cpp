#include "judge/base/random.hpp"

#include <cmath>
#include <cstddef>

namespace ouroboros::judge::random {
namespace {

// Everything up to the one multiplication is exact integer arithmetic, so that no choice of
// instructions (vector width, fused multiply-add) can change a result.

[[gnu::always_inline]] inline std::int32_t centred_sum(std::uint64_t h) noexcept {
  // Two 16-bit lanes at a time: the sums need 17 and 18 bits and do not meet.
  const std::uint64_t pairs = (h & 0x0000ffff0000ffffULL) + ((h >> 16) & 0x0000ffff0000ffffULL);
  const auto sum = static_cast<std::int64_t>((pairs & 0xffffffffULL) + (pairs >> 32));
  return static_cast<std::int32_t>(sum - mean_of_sum);
}

[[gnu::always_inline]] inline void normal_floats(std::uint64_t key, float* out,
                                                 std::size_t count) noexcept {
  constexpr auto scale = static_cast<float>(1.0 / standard_deviation);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(centred_sum(bits(key, i))) * scale;
  }
}

[[gnu::always_inline]] inline void normal_doubles(std::uint64_t key, double* out,
                                                  std::size_t count) noexcept {
  constexpr double scale = 0x1p-32 / standard_deviation;
  const std::uint64_t low_key = mix(~key);
  for (std::size_t i = 0; i < count; ++i) {
    const auto high = static_cast<std::int64_t>(centred_sum(bits(key, i))) * 0x100000000LL;
    const auto low = static_cast<std::int64_t>(bits(low_key, i) >> 32);
    out[i] = static_cast<double>(high + low) * scale;
  }
}

#if defined(__x86_64__) && defined(__GNUC__)
// Chosen at run time by hand: indirect functions would run before a sanitizer's start-up.
[[gnu::target("avx512f,avx512dq,avx512vl")]] void wide_floats(std::uint64_t key, float* out,
                                                              std::size_t count) noexcept {
  normal_floats(key, out, count);
}
[[gnu::target("avx512f,avx512dq,avx512vl")]] void wide_doubles(std::uint64_t key, double* out,
                                                               std::size_t count) noexcept {
  normal_doubles(key, out, count);
}
bool wide() noexcept {
  static const bool supported = __builtin_cpu_supports("avx512f") &&
                                __builtin_cpu_supports("avx512dq") &&
                                __builtin_cpu_supports("avx512vl");
  return supported;
}
#else
void wide_floats(std::uint64_t, float*, std::size_t) noexcept {}
void wide_doubles(std::uint64_t, double*, std::size_t) noexcept {}
constexpr bool wide() noexcept { return false; }
#endif

}  // namespace

void normal(std::uint64_t key, std::span<float> out) noexcept {
  wide() ? wide_floats(key, out.data(), out.size()) : normal_floats(key, out.data(), out.size());
}

void normal(std::uint64_t key, std::span<double> out) noexcept {
  wide() ? wide_doubles(key, out.data(), out.size()) : normal_doubles(key, out.data(), out.size());
}

}  // namespace ouroboros::judge::random
