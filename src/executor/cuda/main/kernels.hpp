#pragma once

/// Our own device code, as PTX: the driver compiles it for whatever device it finds.
///
///   ouroboros_read      streams `count` 16-byte words and keeps nothing: evicts the L2 cache and
///                       leaves it clean. `count` is a multiple of four times the threads.
///   ouroboros_compare   adds to `*differing` the number of words in which `a` and `b` differ
///   ouroboros_canary    finds bytes that are not the pattern's: how many, the first, the last
///   ouroboros_scrub     zeroes a block's dynamic shared memory
///   ouroboros_sentinel  computes something known, through shared memory
///   ouroboros_empty     does nothing
namespace ouroboros::cuda {

inline constexpr unsigned read_words_at_once = 4;

/// What `ouroboros_canary` writes.
struct CanaryResult {
  unsigned long long bytes = 0;
  unsigned long long first = ~0ULL;
  unsigned long long last = 0;
};

extern const char* const kernels_ptx;

}  // namespace ouroboros::cuda
