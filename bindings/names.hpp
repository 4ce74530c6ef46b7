#pragma once

#include <string>
#include <vector>

#include "ouroboros/dtype.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::bindings {

/// The dtype of a name. Throws `Error{invalid_argument}` that lists the names.
[[nodiscard]] inline DType dtype_named(const std::string& name) {
  if (const auto dtype = parse_dtype(name)) return *dtype;
  std::string known;
  for (const DType dtype : all_dtypes()) {
    known += (known.empty() ? "" : ", ") + std::string(to_string(dtype));
  }
  throw Error(ErrorCode::invalid_argument, "'" + name + "' is no dtype; there are " + known);
}

[[nodiscard]] inline std::vector<std::string> dtype_names(const std::vector<DType>& dtypes) {
  std::vector<std::string> names;
  for (const DType dtype : dtypes) names.emplace_back(to_string(dtype));
  return names;
}

}  // namespace ouroboros::bindings
