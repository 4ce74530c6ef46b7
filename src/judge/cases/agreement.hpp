#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/judge.hpp"

namespace ouroboros::judge {

/// Whether a problem's own oracle computes what its reference does. One sentence where it does not:
/// what is allowed follows from how far they are apart, so that one that computes something else
/// lets everything pass.
///
/// An oracle is refused where, in most ordinary cases of a dtype, more than half of the elements of
/// an output are another number: further from the reference's than a quarter of their own size and
/// of the usual one, integers than 1. A reference may be coarse, and few elements may be anywhere:
/// those are what an oracle is for.
[[nodiscard]] std::optional<std::string> disagreement(const Problem& problem,
                                                      const std::vector<const Case*>& cases);

}  // namespace ouroboros::judge
