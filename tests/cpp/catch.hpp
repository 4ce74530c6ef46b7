#pragma once

// One include for Catch2 v2, which Debian 12 ships, and v3. Both give `Approx` without a prefix.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

namespace ouroboros_test {
using ::Approx;
}  // namespace ouroboros_test
