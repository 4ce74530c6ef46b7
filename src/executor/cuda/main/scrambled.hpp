#pragma once

#include <cstdint>

namespace ouroboros::cuda {

/// The last step of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
constexpr std::uint64_t scrambled(std::uint64_t bits) noexcept {
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebULL;
  return bits ^ bits >> 31;
}

}  // namespace ouroboros::cuda
