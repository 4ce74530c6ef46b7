#pragma once

#include <cstddef>
#include <cstdint>

#include "judge/base/random.hpp"
#include "judge/judge.hpp"

/// Streams of random numbers of one case: each input has a few of its own.
namespace ouroboros::judge {

enum Purpose : std::uint64_t { values = 0, choices = 1, levels = 2, kinds = 3, purposes = 4 };

[[nodiscard]] inline std::uint64_t stream(const CaseSpec& spec, std::size_t input,
                                          Purpose purpose) noexcept {
  return random::key(spec.seed, input * purposes + purpose);
}

}  // namespace ouroboros::judge
