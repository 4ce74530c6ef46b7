#pragma once

// LibTorch's CHECK, which ends the process, comes first: included later it would take the place of
// Catch2's, and nothing would be counted.
#if __has_include(<c10/util/Logging.h>)
#include <c10/util/Logging.h>
#endif

// One include for Catch2 v2, which Debian 12 ships, and v3, which Ubuntu 24.04 does. Both give
// `Approx` without a prefix, and v3's name for the matcher of parts of strings.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
#else
#include <catch2/catch.hpp>
inline auto ContainsSubstring(const std::string& part) { return Catch::Matchers::Contains(part); }
#endif

namespace ouroboros_test {
using ::Approx;
}  // namespace ouroboros_test
