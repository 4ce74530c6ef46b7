#pragma once

#include <cstdint>

namespace ouroboros::cuda {

/// Bits that nobody can tell in advance.
std::uint32_t random_bits();

/// A quiet NaN in float32, and in float16 and bfloat16 in its upper half.
std::uint32_t fresh_pattern();

/// What memory may well hold that nobody wrote: to wait for a lock that is no NaN, or to take the
/// least of it and a result, is right on a NaN.
std::uint32_t fresh_number();

/// Either of them.
std::uint32_t fresh_poison();

}  // namespace ouroboros::cuda
