#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ouroboros/verdict.hpp"

/// What the pattern of passed and failed cases says about a candidate's mistake.
namespace ouroboros::diagnosis {

/// What is special about the values of a family, judged by its name.
enum class Trait : std::uint8_t {
  plain,       ///< Nothing: ordinary values.
  large,       ///< Scaled up, or one spike: what overflows an exponential.
  offset,      ///< A large mean with a small spread: what cancels in E[x^2] - E[x]^2.
  tiny,        ///< Small or denormal: what an eps in the wrong place changes.
  equal,       ///< All alike: no variance.
  not_finite,  ///< NaN or infinities among the inputs.
};

[[nodiscard]] Trait trait_of(std::string_view family);

/// Up to `most` sentences, the best supported first; empty when nothing stands out. A pattern
/// counts only if every failed case has it and no passed case does.
[[nodiscard]] std::vector<std::string> likely_causes(const Correctness& correctness,
                                                     std::size_t most);

/// What to do about a kind of finding; empty for one that needs no more words.
[[nodiscard]] std::string_view advice(std::string_view finding_kind);

}  // namespace ouroboros::diagnosis
