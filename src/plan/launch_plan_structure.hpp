#pragma once

#include <cstdint>
#include <optional>

#include "ouroboros/launch_plan.hpp"

namespace ouroboros::launch_plan {

/// Checks what an executor relies on: indices, offsets and ranges, parameter blocks, sizes that do
/// not overflow. Throws `Error{invalid_argument}` that names the field.
void require_structure(const LaunchPlan& plan);

/// Bytes from the first element of a buffer's tensor to the end of its last; empty on overflow.
[[nodiscard]] std::optional<std::uint64_t> tensor_extent(const PlanBuffer& buffer);

}  // namespace ouroboros::launch_plan
