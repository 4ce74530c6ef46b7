#pragma once

#include <cmath>
#include <source_location>
#include <span>
#include <string>

#include "ouroboros/error.hpp"

namespace ouroboros::timing {

/// Throws Error{invalid_argument} with `message` unless `condition` holds.
inline void require(bool condition, const char* message,
                    std::source_location where = std::source_location::current()) {
  if (!condition) throw Error(ErrorCode::invalid_argument, message, where);
}

/// Throws Error{invalid_argument} unless every value is a finite number.
inline void require_finite(std::span<const double> values,
                           std::source_location where = std::source_location::current()) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      throw Error(ErrorCode::invalid_argument,
                  "value " + std::to_string(i) +
                      " is not finite: every sample must be a positive, finite duration",
                  where);
    }
  }
}

}  // namespace ouroboros::timing
