#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "ouroboros/plan.hpp"

namespace ouroboros {
namespace {

constexpr std::size_t block_bytes = 64;

using State = std::array<std::uint32_t, 8>;

// FIPS 180-4, section 4.2.2: fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> round_constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

// Section 5.3.3.
constexpr State initial_state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

std::uint32_t big_endian_word(const unsigned char* bytes) {
  return (std::uint32_t{bytes[0]} << 24) | (std::uint32_t{bytes[1]} << 16) |
         (std::uint32_t{bytes[2]} << 8) | std::uint32_t{bytes[3]};
}

// Section 6.2.2: absorbs one block.
void absorb(State& state, const unsigned char* block) {
  std::array<std::uint32_t, 64> schedule;
  for (std::size_t t = 0; t < 16; ++t) schedule[t] = big_endian_word(block + 4 * t);
  for (std::size_t t = 16; t < 64; ++t) {
    const std::uint32_t x = schedule[t - 15];
    const std::uint32_t y = schedule[t - 2];
    const std::uint32_t small_0 = std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3);
    const std::uint32_t small_1 = std::rotr(y, 17) ^ std::rotr(y, 19) ^ (y >> 10);
    schedule[t] = small_1 + schedule[t - 7] + small_0 + schedule[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < 64; ++t) {
    const std::uint32_t big_1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t choice = (e & f) ^ (~e & g);
    const std::uint32_t first = h + big_1 + choice + round_constants[t] + schedule[t];
    const std::uint32_t big_0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    const std::uint32_t second = big_0 + majority;
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const State mixed{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += mixed[i];
}

}  // namespace

std::string sha256_hex(const void* bytes, std::size_t size) {
  const auto* input = static_cast<const unsigned char*>(bytes);
  State state = initial_state;
  const std::size_t whole = size / block_bytes * block_bytes;
  for (std::size_t offset = 0; offset < whole; offset += block_bytes) absorb(state, input + offset);

  // Section 5.1.1: a one bit, zeros, and the length in bits; one block or two.
  std::array<unsigned char, 2 * block_bytes> tail{};
  const std::size_t rest = size - whole;
  if (rest > 0) std::memcpy(tail.data(), input + whole, rest);
  tail[rest] = 0x80;
  const std::size_t tail_bytes = rest + 9 <= block_bytes ? block_bytes : 2 * block_bytes;
  const std::uint64_t bits = std::uint64_t{size} * 8;
  for (std::size_t i = 0; i < 8; ++i) {
    tail[tail_bytes - 1 - i] = static_cast<unsigned char>(bits >> (8 * i));
  }
  for (std::size_t offset = 0; offset < tail_bytes; offset += block_bytes) {
    absorb(state, tail.data() + offset);
  }

  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  hex.reserve(64);
  for (const std::uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) hex.push_back(digits[(word >> shift) & 0xF]);
  }
  return hex;
}

}  // namespace ouroboros
