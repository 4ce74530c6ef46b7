#pragma once

#include <cstdint>
#include <string>

#include "executor/cuda/main/scrambled.hpp"

namespace ouroboros::cuda {

/// PTX of a kernel of 1024 threads a block:
/// `ouroboros_seal(from, to, bytes, key, place, sums, sealed)` enciphers memory, or deciphers
/// `sealed` one, and writes it to where there is a place for it (`to` may be null). Each block
/// writes a sum of what is enciphered, be it what was read or what came of it. Sixteen bytes have a
/// place of their own, from `place` on, and then each byte of what is left; `from` and `to` are
/// multiples of 16.
[[nodiscard]] std::string seal_kernel_ptx();

/// What the host lends to the kernel for as long as no other runs.
struct SealKey {
  std::uint64_t places = 0;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t sums = 0;
};

/// What the key makes of a place.
struct SealSecret {
  std::uint64_t first = 0;   ///< Enciphers the first half, by exclusive or.
  std::uint64_t second = 0;  ///< And the second one.
  std::uint64_t sums = 0;    ///< Is seen nowhere.
};

/// Who knows what was enciphered in so many places knows what enciphered it. To find the key of
/// that takes some 2^64 trials over as many places (Even and Mansour, Journal of Cryptology 1997);
/// what is added up under is not found by that either.
constexpr SealSecret secret_of(const SealKey& key, std::uint64_t place) noexcept {
  const auto seed = scrambled(place ^ key.places);
  return {scrambled(seed ^ key.first), scrambled(seed ^ key.second), scrambled(seed ^ key.sums)};
}

/// What is added up of an enciphered place: the product of its halves, each under a secret, as in
/// NH (Black and others, CRYPTO 1999). Both halves of the product: a change of a factor's highest
/// bit shows in the lower one half of the time.
constexpr std::uint64_t mixed(const SealSecret& secret, std::uint64_t first,
                              std::uint64_t second) noexcept {
  __extension__ using Wide = unsigned __int128;
  const auto product =
      Wide{first ^ secret.sums} * (second ^ (secret.sums << 47 | secret.sums >> 17));
  return static_cast<std::uint64_t>(product) + static_cast<std::uint64_t>(product >> 64);
}

}  // namespace ouroboros::cuda
