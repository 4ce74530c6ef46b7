#pragma once

#include "ouroboros/referee.hpp"

namespace ouroboros::referee {

/// A side of a comparison as something to be measured against. A candidate is compiled now, and for
/// a GPU traced and audited too. Throws `Error{invalid_argument}` where that fails.
[[nodiscard]] Baseline rival(const Problem& problem, const Contender& contender,
                             const Options& options);

/// Whether it is host code.
[[nodiscard]] bool on_host(const Contender& contender) noexcept;

}  // namespace ouroboros::referee
