// What raw samples of a calibration come to, and what is said of figures that cannot be right.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "executor/cuda/calibration.hpp"
#include "ouroboros/cuda_executor.hpp"

using namespace ouroboros;
using nlohmann::json;

namespace {

/// So many samples, a few tenths of a per cent apart.
std::vector<double> around(double us, std::size_t count = 32) {
  std::vector<double> samples;
  for (std::size_t i = 0; i < count; ++i) {
    samples.push_back(us * (1 + 0.001 * static_cast<double>(i % 5)));
  }
  return samples;
}

/// A GPU whose memory moves 1024 GB/s, of which copies reach four fifths, and reads nearly all.
json measured() {
  json curve = json::array();
  for (const auto& [reads, writes, rate] : {std::tuple{1, 1, 800e3}, std::tuple{1, 0, 1000e3}}) {
    for (const double bytes : {0x1p20, 0x1p24, 0x1p28}) {
      curve.push_back({{"reads", reads},
                       {"writes", writes},
                       {"bytes", bytes},
                       {"us", around(2.0 + bytes / rate)}});
    }
  }
  json flushes = json::array();
  for (const int times : {1, 2, 4, 8}) {
    flushes.push_back({{"bytes", times << 20}, {"read_us", around(7.0)}});
  }
  return {{"tick_us", {10.016, 10.048, 10.112, 10.08}},
          {"launch_us", {{"stream", around(2.0)}, {"gate", around(2.1)}}},
          {"gap_us", {{"stream", around(1.5)}, {"gate", around(1.6)}}},
          {"empty_us", {{"stream", around(4.0)}, {"gate", around(3.0)}}},
          {"flush_us", around(30.0)},
          {"flush_bytes", 2 << 20},
          {"flush_sizes", flushes},
          {"clean_copy_us", around(10.0)},
          {"dirty_copy_us", around(11.0)},
          {"hot_copy_us", around(8.0)},
          {"globaltimer_step_ns", {32, 32, 64}},
          {"curve", curve},
          {"same_us", around(10.0, 40)},
          {"memory_clock_khz", 1'000'000},
          {"memory_bus_bits", 4096}};
}

Calibration calibrated(const json& samples) {
  CudaDevice device;
  device.name = "A GPU";
  device.driver_version = 13000;
  return cuda::calibration_from(samples, device);
}

/// The only note.
std::string note_of(const json& samples) {
  const auto notes = calibrated(samples).notes;
  REQUIRE(notes.size() == 1);
  return notes.front();
}

}  // namespace

TEST_CASE("a calibration of a sound GPU has figures, and no notes") {
  const auto found = calibrated(measured());
  CHECK(found.notes.empty());
  CHECK(found.driver_version == "CUDA 13.0");
  CHECK(found.tick_ns == Approx(32));
  CHECK(found.tick_error_ns < 1e-6);
  CHECK(found.globaltimer_step_ns == 32);
  CHECK(found.globaltimer_step_error_ns == 32);
  CHECK(found.peak_gbps == Approx(1024));
  CHECK(found.launch_us.at("gate").estimate == Approx(2.1).epsilon(0.01));
  CHECK(found.launch_us.at("gate").low < found.launch_us.at("gate").high);
  CHECK(found.gap_us.at("gate").estimate == Approx(1.6).epsilon(0.01));
  CHECK(found.floor_us(0x1p27, 0x1p27) == Approx(0x1p28 / 800e3).epsilon(0.02));
}

TEST_CASE("attributes that are missing or wrong give no peak, and a note") {
  auto samples = measured();
  samples["memory_clock_khz"] = 0;
  CHECK(calibrated(samples).peak_gbps == 0);
  CHECK_THAT(note_of(samples), ContainsSubstring("does not say how fast the memory's clock is"));
  samples["memory_clock_khz"] = 500'000;
  CHECK(calibrated(samples).peak_gbps == 0);
  CHECK_THAT(note_of(samples), ContainsSubstring("more than the 512 GB/s"));
}

TEST_CASE("a flush that leaves something, and a coarse clock, are said to") {
  auto samples = measured();
  samples["flush_sizes"].back()["read_us"] = around(7.2);
  CHECK_THAT(note_of(samples), ContainsSubstring("is still there"));
  samples = measured();
  samples["globaltimer_step_ns"] = {1024};
  CHECK_THAT(note_of(samples), ContainsSubstring("steps of 1024 ns"));
}

TEST_CASE("times that are no multiples of a tick leave it uncertain") {
  auto samples = measured();
  samples["tick_us"] = {10.016, 10.048, 10.112, 10.095};
  const auto found = calibrated(samples);
  CHECK(found.tick_error_ns > 1e-3);        // Of whole multiples it is less than 1e-6.
  CHECK(std::abs(found.tick_ns - 17) < 1);  // The least step, and nearly a divisor of the times.
}

TEST_CASE("a copy that is not as fast as itself is said to be") {
  auto samples = measured();
  CHECK(calibrated(samples).aa_speedup.estimate == Approx(1).epsilon(1e-3));
  // The same order of arms as where it is read: blocks whose first arm is the second one mirror it.
  auto& same = samples["same_us"];
  timing::BlockOrder order(2, 0);
  for (std::size_t i = 0; i + 4 <= same.size(); i += 4) {
    const bool swapped = order.next().front() == 1;
    for (const std::size_t k : {0, 3}) same[i + k] = swapped ? 10.1 : 10.0;
    for (const std::size_t k : {1, 2}) same[i + k] = swapped ? 10.0 : 10.1;
  }
  CHECK_THAT(note_of(samples), ContainsSubstring("a copy against itself comes out as 1.01"));
}
