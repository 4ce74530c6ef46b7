#pragma once

#include <string>
#include <vector>

#include "ouroboros/dtype.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::bindings {

/// The dtype of a name. Throws `Error{invalid_argument}` that lists the names.
[[nodiscard]] inline DType dtype_named(const std::string& name) {
  if (const auto dtype = parse_dtype(name)) return *dtype;
  throw Error(
      ErrorCode::invalid_argument,
      "'" + name + "' is no dtype; use float16, bfloat16, float32, float64, int32 or int64");
}

[[nodiscard]] inline std::vector<std::string> dtype_names(const std::vector<DType>& dtypes) {
  std::vector<std::string> names;
  for (const DType dtype : dtypes) names.emplace_back(to_string(dtype));
  return names;
}

}  // namespace ouroboros::bindings
