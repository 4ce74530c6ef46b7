#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ouroboros::live {

/// The kernels that a cubin has code for: each has a section of its own. None for other bytes.
[[nodiscard]] std::vector<std::string> kernel_names(std::string_view cubin);

}  // namespace ouroboros::live
