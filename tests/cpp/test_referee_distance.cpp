// The largest distance between what a candidate and eager mode left.

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <cstdint>
#include <limits>

#include "catch.hpp"
#include "ouroboros/error.hpp"
#include "referee/distance.hpp"

using ouroboros::referee::largest_distance;

namespace {

constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Of two float32 tensors of `count` elements that differ at `position` alone.
double distance_at(std::int64_t count, std::int64_t position, double a, double b) {
  auto x = at::full({count}, 1, at::kFloat);
  auto y = at::full({count}, 1, at::kFloat);
  x.data_ptr<float>()[position] = static_cast<float>(a);
  y.data_ptr<float>()[position] = static_cast<float>(b);
  return largest_distance(x, y);
}

}  // namespace

TEST_CASE("every element counts, wherever it is", "[referee]") {
  for (const std::int64_t count : {1, 31, 32, 33, 100}) {
    for (std::int64_t position = 0; position < count; ++position) {
      CAPTURE(count, position);
      CHECK(distance_at(count, position, 1.5, 4.0) == 2.5);
      CHECK(distance_at(count, position, 4.0, 1.5) == 2.5);
    }
  }
}

TEST_CASE("NaN and infinities agree with themselves alone", "[referee]") {
  CHECK(distance_at(40, 35, quiet_nan, quiet_nan) == 0);
  CHECK(distance_at(40, 35, infinity, infinity) == 0);
  CHECK(distance_at(40, 35, quiet_nan, 1) == infinity);
  CHECK(distance_at(40, 35, 1, quiet_nan) == infinity);
  CHECK(distance_at(40, 35, quiet_nan, infinity) == infinity);
  CHECK(distance_at(40, 35, infinity, 1) == infinity);
  CHECK(distance_at(40, 35, infinity, -infinity) == infinity);
}

TEST_CASE("a NaN on both sides hides no other difference", "[referee]") {
  auto x = at::zeros({64}, at::kFloat);
  auto y = at::zeros({64}, at::kFloat);
  x.data_ptr<float>()[0] = y.data_ptr<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  y.data_ptr<float>()[32] = 3;  // The same lane, later.
  CHECK(largest_distance(x, y) == 3);
  x.data_ptr<float>()[0] = y.data_ptr<float>()[0] = 0;
  x.data_ptr<float>()[63] = y.data_ptr<float>()[63] = std::numeric_limits<float>::quiet_NaN();
  CHECK(largest_distance(x, y) == 3);
}

TEST_CASE("distances of every dtype", "[referee]") {
  for (const auto dtype : {at::kHalf, at::kFloat, at::kDouble, at::kInt, at::kLong}) {
    CAPTURE(static_cast<int>(dtype));
    CHECK(largest_distance(at::full({3, 50}, -7, dtype), at::full({3, 50}, 5, dtype)) == 12);
    CHECK(largest_distance(at::zeros({0}, dtype), at::zeros({0}, dtype)) == 0);
  }
  const double near = 1 + 0x1p-52;
  CHECK(largest_distance(at::full({40}, near, at::kDouble), at::full({40}, 1, at::kDouble)) ==
        0x1p-52);
}

TEST_CASE("tensors of different kinds have no distance", "[referee]") {
  CHECK_THROWS_AS(largest_distance(at::zeros({4}, at::kFloat), at::zeros({4}, at::kDouble)),
                  ouroboros::Error);
  CHECK_THROWS_AS(largest_distance(at::zeros({4}, at::kFloat), at::zeros({5}, at::kFloat)),
                  ouroboros::Error);
}
