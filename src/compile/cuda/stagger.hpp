#pragma once

#include <string>
#include <string_view>

namespace ouroboros::cuda {

/// The same program as PTX, in which warps get out of step: where a kernel begins, and wherever a
/// warp has waited for others, some warps sleep for a few microseconds, drawn anew each time. It
/// computes the same if whoever needs another's work waits for it. What is no PTX stays as it is.
[[nodiscard]] std::string staggered(std::string_view ptx);

}  // namespace ouroboros::cuda
