#include <sys/random.h>

#include <cerrno>

#include "referee/stages.hpp"

namespace ouroboros::referee {

std::uint64_t secret_seed() {
  std::uint64_t seed = 0;
  while (getrandom(&seed, sizeof seed, 0) != sizeof seed) {
    if (errno != EINTR) {
      throw Error(ErrorCode::sandbox_unavailable, "the system gives no random numbers");
    }
  }
  return seed;
}

// SplitMix64's finaliser (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
// OOPSLA 2014), applied twice so that neighbouring purposes have nothing in common.
std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t purpose) {
  const auto mix = [](std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
  };
  return mix(mix(seed + 0x9e3779b97f4a7c15ULL) + purpose * 0x9e3779b97f4a7c15ULL);
}

}  // namespace ouroboros::referee
