#pragma once

#include <string>

namespace ouroboros::cuda {

/// PTX of kernels that move memory as fast as the device can, for the ceiling of what any kernel
/// may reach: `ouroboros_move_R_W(from, to, words, sink)` reads R streams of `words` 16-byte words
/// that follow one another at `from` and writes W streams at `to`. `words` is a multiple of four
/// times the threads.
[[nodiscard]] std::string stream_kernels_ptx();

/// A mix of reads and writes that there is a kernel for.
struct StreamMix {
  unsigned reads;
  unsigned writes;
};
inline constexpr StreamMix stream_mixes[] = {{1, 0}, {3, 1}, {2, 1}, {1, 1}, {1, 2}, {0, 1}};

}  // namespace ouroboros::cuda
