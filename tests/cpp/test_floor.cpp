// The time that a copy takes on a GPU whose copies were measured in a few sizes and mixes.

#include <cmath>

#include "catch.hpp"
#include "ouroboros/calibration.hpp"

using namespace ouroboros;
using ouroboros_test::Approx;

namespace {

constexpr double mega = 1e6;

/// Copies take 2 us at 1 MB, 8 us at 16 MB; reading twice what is written, half as long.
Calibration measured() {
  const auto point = [](int reads, std::int64_t bytes, double us) {
    const double gbps = static_cast<double>(bytes) / (us * 1e3);
    return CopyPoint{reads, 1, bytes, {gbps, gbps, gbps}};
  };
  Calibration calibration;
  calibration.copy_curve = {point(1, 16'000'000, 8), point(1, 1'000'000, 2), point(2, 1'000'000, 1),
                            point(2, 16'000'000, 4)};
  return calibration;
}

}  // namespace

TEST_CASE("a floor lies between the sizes that were measured", "[timing]") {
  const auto calibration = measured();
  CHECK(calibration.floor_us(0.5 * mega, 0.5 * mega) == Approx(2));
  CHECK(calibration.floor_us(8 * mega, 8 * mega) == Approx(8));
  // Half way between the logarithms of 1 and 16 MB, and of 2 and 8 us.
  CHECK(calibration.floor_us(2 * mega, 2 * mega) == Approx(4));
}

TEST_CASE("below the smallest size latency stays, above the largest bandwidth", "[timing]") {
  const auto calibration = measured();
  CHECK(calibration.floor_us(500, 500) == Approx(2));
  CHECK(calibration.floor_us(32 * mega, 32 * mega) == Approx(32));
}

TEST_CASE("a floor lies between the mixes that were measured", "[timing]") {
  const auto calibration = measured();
  CHECK(calibration.floor_us(12 * mega, 6 * mega) == Approx(4 * 18.0 / 16.0));
  // Of reads alone and of writes alone there is no measurement: the nearest mix counts.
  CHECK(calibration.floor_us(1 * mega, 0) == Approx(1));
  CHECK(calibration.floor_us(0, 1 * mega) == Approx(2));
  // 7 of 12 parts are read: half way between 1 of 2 and 2 of 3.
  CHECK(calibration.floor_us(mega * 7 / 12, mega * 5 / 12) == Approx(1.5));
}

TEST_CASE("without a curve there is no floor", "[timing]") {
  CHECK(Calibration{}.floor_us(mega, mega) == 0);
  CHECK(measured().floor_us(0, 0) == 0);
}
