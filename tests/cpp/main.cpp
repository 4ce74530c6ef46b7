// Built only where Catch2 comes without a library that has a `main`.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
