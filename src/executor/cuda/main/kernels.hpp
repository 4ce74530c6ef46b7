#pragma once

#include <cstdint>

#include "executor/cuda/main/scrambled.hpp"

/// Our own device code, as PTX: the driver compiles it for whatever device it finds.
///
///   ouroboros_read      streams `count` 16-byte words and keeps nothing: evicts the L2 cache and
///                       leaves it clean. `count` is a multiple of four times the threads.
///   ouroboros_canary    finds bytes that are not the pattern's: how many, the first, the last
///   ouroboros_fill_on_chip  fills a block's dynamic shared memory, of 16 KiB at least, with a
///                       word, and its 1024 threads' registers
///   ouroboros_sentinel  computes something known, through shared memory
///   ouroboros_empty     does nothing
///   ouroboros_touch     reads one word of every 64 KiB of up to four ranges on every
///                       multiprocessor, so that addresses are translated quickly after that
///   ouroboros_stamp     every multiprocessor writes its cycle counter and the device's clock
///   ouroboros_gate      waits for a word of the host's, for so many nanoseconds at most
///   ouroboros_spin      lets so many cycles pass; then each thread writes a word, as kernels write
///                       their results, and each block when it began and ended
///   ouroboros_step      reads the device's clock again and again: its smallest step
namespace ouroboros::cuda {

inline constexpr unsigned read_words_at_once = 4;

/// What `ouroboros_touch` takes. Those that are not needed have no bytes.
struct TouchedRanges {
  struct One {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
  };
  One each[4];
};

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
