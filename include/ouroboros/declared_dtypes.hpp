#pragma once

#include <vector>

#include "ouroboros/api.hpp"
#include "ouroboros/dtype.hpp"

namespace ouroboros {

/// What the inputs of a reference are declared as, while the library runs it in float64, or in
/// float32 in the place of 16 bits, on this thread; nullptr elsewhere. Bindings whose callables
/// look at their tensors' dtypes may show them these.
[[nodiscard]] OUROBOROS_API const std::vector<DType>* declared_dtypes() noexcept;

}  // namespace ouroboros
