#pragma once

#include <cstdint>

/// Our own device code, as PTX: the driver compiles it for whatever device it finds.
///
///   ouroboros_read      streams `count` 16-byte words and keeps nothing: evicts the L2 cache and
///                       leaves it clean. `count` is a multiple of four times the threads.
///   ouroboros_seal      enciphers words, or deciphers `sealed` ones, and writes them where there
///                       is a place for it; each block writes the sum of what is enciphered, be it
///                       what was read or what came of it: see `secret_of` and `mixed`
///   ouroboros_canary    finds bytes that are not the pattern's: how many, the first, the last
///   ouroboros_fill_on_chip  fills a block's dynamic shared memory, of 16 KiB at least, with a
///                       word, and its 1024 threads' registers
///   ouroboros_sentinel  computes something known, through shared memory
///   ouroboros_empty     does nothing
///   ouroboros_touch     reads one word of every 64 KiB on every multiprocessor, so that addresses
///                       are translated quickly after that
///   ouroboros_stamp     every multiprocessor writes its cycle counter and the device's clock
///   ouroboros_gate      waits for a word of the host's, for so many nanoseconds at most
///   ouroboros_spin      lets so many cycles pass; then each thread writes a word, as kernels write
///                       their results, and each block when it began and ended
///   ouroboros_step      reads the device's clock again and again: its smallest step
namespace ouroboros::cuda {

inline constexpr unsigned read_words_at_once = 4;

/// What the host lends to kernels for as long as no other runs.
struct SealKey {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

/// The last step of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
constexpr std::uint64_t scrambled(std::uint64_t bits) noexcept {
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebULL;
  return bits ^ bits >> 31;
}

/// The lower half enciphers what is at this place: a word of 32 bits, or each of the last bytes,
/// by exclusive or. Who knows what was enciphered in so many places has half of their secrets; to
/// find the key takes some 2^64 trials over as many places (Even and Mansour, Journal of Cryptology
/// 1997).
constexpr std::uint64_t secret_of(const SealKey& key, std::uint64_t place) noexcept {
  return scrambled(scrambled(place ^ key.first) ^ key.second);
}

/// What is added up of an enciphered word.
constexpr std::uint64_t mixed(std::uint64_t secret, std::uint32_t word) noexcept {
  return scrambled(secret ^ word);
}

/// What `ouroboros_canary` writes.
struct CanaryResult {
  unsigned long long bytes = 0;
  unsigned long long first = ~0ULL;
  unsigned long long last = 0;
};

/// What `ouroboros_stamp` writes, at the number of the multiprocessor.
struct ClockStamp {
  unsigned long long cycles = 0;
  unsigned long long nanoseconds = 0;
};

/// What a block of `ouroboros_spin` writes of itself, at its number.
struct Span {
  unsigned long long begin_ns = 0;
  unsigned long long end_ns = 0;
};

/// Stamps of more multiprocessors than this are left out.
inline constexpr unsigned most_stamps = 256;

/// What the host and `ouroboros_gate` say to each other.
struct GateWords {
  unsigned opened = 0;  ///< The ticket of the last gate that the host opened.
  unsigned late = 0;    ///< The ticket of the last gate that gave up waiting.
};

extern const char* const kernels_ptx;

/// What the host and `ouroboros_hinder` say to each other.
struct HindranceWords {
  std::uint64_t password = 0;  ///< Of the last launch that the host let go.
  unsigned arrived = 0;        ///< The ticket of the last launch that is there.
};

/// By what a launch knows its password, which a kernel that reads its parameters does not find out.
constexpr std::uint64_t print_of(std::uint64_t password) noexcept {
  return scrambled(password) ^ password;
}

/// Warps of `ouroboros_hinder` in a block, beside the one that watches for the host's word.
inline constexpr unsigned hindering_warps = 24;

/// A module of its own:
///
///   ouroboros_hinder    keeps schedulers and shared memory of about half of the multiprocessors
///                       busy until the host says so, for so many nanoseconds at most
extern const char* const hindrance_ptx;

}  // namespace ouroboros::cuda
