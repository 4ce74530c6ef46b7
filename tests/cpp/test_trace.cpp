#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/trace.hpp"
#include "trace_simulation.hpp"

namespace timing = ouroboros::timing;
using ouroboros_test::Approx;
using timing::Block;
using timing::BlockFilter;
using timing::Decision;
using timing::Sample;
using timing::Void;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Approx near(double value) { return Approx(value).epsilon(1e-9).margin(1e-12); }

/// The message of the Error{invalid_argument} that `call` throws; empty when it throws none.
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const ouroboros::Error& error) {
    CHECK(error.code() == ouroboros::ErrorCode::invalid_argument);
    return error.what();
  }
  return {};
}

/// A block in which everything is as it should be; latencies in the order of `order`.
Block block(const std::vector<std::size_t>& order, const std::vector<double>& latencies,
            std::size_t set = 0) {
  Block result;
  result.set = set;
  for (std::size_t i = 0; i < order.size(); ++i) {
    Sample sample;
    sample.arm = order[i];
    sample.latency_us = latencies[i];
    sample.flush_us = 30.0;
    sample.span_us = 30.0 + latencies[i] + 5.0;
    sample.clock_mhz = 1980.0;
    result.samples.push_back(sample);
  }
  return result;
}

Block quiet(std::size_t set = 0) { return block({0, 1, 1, 0}, {10.0, 20.0, 20.0, 10.0}, set); }

/// A quiet block after `change` of its samples.
Block changed(const std::function<void(std::vector<Sample>&)>& change) {
  Block result = quiet();
  change(result.samples);
  return result;
}

Block flushed(double flush_us) {
  return changed([&](std::vector<Sample>& samples) {
    for (Sample& sample : samples) sample.flush_us = flush_us;
  });
}

Block clocked(double mhz) {
  return changed([&](std::vector<Sample>& samples) {
    for (Sample& sample : samples) sample.clock_mhz = mhz;
  });
}

/// ABBA and BAAB in turn. An arm's time is exp of its own log-time, `memory` at the second meeting,
/// -`kappa` where it follows itself, and a ripple that makes intervals of some width.
struct Effects {
  std::vector<double> log_time = {0.0, 0.0};
  std::vector<double> memory = {0.0, 0.0};
  std::vector<double> kappa = {0.0, 0.0};
  double slot = 0.0;  ///< Every slot reads so much slower than the one before it.
};

std::vector<Block> alternating(int count, const Effects& effects) {
  std::vector<Block> blocks;
  for (int i = 0; i < count; ++i) {
    const std::size_t outer = i % 2 == 0 ? 0 : 1;
    const std::vector<std::size_t> order = {outer, 1 - outer, 1 - outer, outer};
    std::vector<double> times;
    for (std::size_t slot = 0; slot < 4; ++slot) {
      const std::size_t arm = order[slot];
      double log_time = effects.log_time[arm] + effects.slot * static_cast<double>(slot);
      log_time += 0.0005 * ((i / 2 + static_cast<int>(slot)) % 3 - 1);
      if (slot >= 2) log_time += effects.memory[arm];
      if (slot == 2) log_time -= effects.kappa[arm];
      times.push_back(20.0 * std::exp(log_time));
    }
    blocks.push_back(block(order, times, static_cast<std::size_t>(i)));
  }
  return blocks;
}

bool unbounded(const timing::Interval& interval) {
  return interval.low == -kInfinity && interval.high == kInfinity;
}

bool holds(const timing::Interval& interval, double value) {
  constexpr double rounding = 1e-9;
  return interval.low - rounding <= value && value <= interval.high + rounding;
}

}  // namespace

// ---- Which blocks count
// --------------------------------------------------------------------------

TEST_CASE("a quiet trace is admitted whole", "[timing][trace]") {
  BlockFilter filter;
  for (int i = 0; i < 64; ++i) CHECK(filter.admit(quiet()) == Void::none);
  CHECK(filter.seen() == 64);
  CHECK(filter.admitted() == 64);
  CHECK_FALSE(filter.unstable());
  CHECK_FALSE(filter.starving());
  CHECK(filter.why() == "Of 64 blocks 64 count.");
}

TEST_CASE("what is unknown voids nothing", "[timing][trace]") {
  BlockFilter filter;
  const Block bare = changed([](std::vector<Sample>& samples) {
    for (Sample& sample : samples) sample = {sample.arm, sample.latency_us, 0.0, 0.0, 0.0, false};
  });
  for (int i = 0; i < 20; ++i) CHECK(filter.admit(bare) == Void::none);
}

TEST_CASE("one starved sample voids its block, before all other reasons", "[timing][trace]") {
  for (std::size_t at = 0; at < 4; ++at) {
    BlockFilter filter;
    CHECK(filter.admit(changed([&](std::vector<Sample>& samples) {
      samples[at].starved = true;
      samples[0].flush_us = 1.0;
    })) == Void::starved);
    // It has taught the filter nothing.
    CHECK(filter.admit(quiet()) == Void::none);
    CHECK(filter.count(Void::starved) == 1);
    CHECK(filter.count(Void::flush) == 0);
  }
}

TEST_CASE("a flush must keep to its calibrated band", "[timing][trace]") {
  timing::Bands bands;
  bands.flush_us = 30.0;
  BlockFilter filter(bands);
  CHECK(filter.admit(flushed(24.1)) == Void::none);
  CHECK(filter.admit(flushed(35.9)) == Void::none);
  CHECK(filter.admit(flushed(23.9)) == Void::flush);
  CHECK(filter.admit(flushed(36.1)) == Void::flush);
  CHECK(filter.admit(flushed(0.0)) == Void::flush);
  // Whichever arm it stood before.
  for (std::size_t at = 0; at < 4; ++at) {
    CHECK(filter.admit(changed([&](std::vector<Sample>& s) { s[at].flush_us = 20.0; })) ==
          Void::flush);
  }
  bands.flush_tolerance = 0.5;
  CHECK(BlockFilter(bands).admit(flushed(20.0)) == Void::none);
}

TEST_CASE("without calibration the band is learnt from admitted blocks only", "[timing][trace]") {
  BlockFilter filter;
  // The first block has nothing but itself: an outlier among its own flushes is seen.
  CHECK(filter.admit(changed([](std::vector<Sample>& s) { s[2].flush_us = 230.0; })) ==
        Void::flush);
  for (int i = 0; i < 5; ++i) CHECK(filter.admit(flushed(30.0)) == Void::none);
  // However many are void, the band stays where it was.
  for (int i = 0; i < 40; ++i) CHECK(filter.admit(flushed(15.0)) == Void::flush);
  CHECK(filter.admit(flushed(0.0)) == Void::flush);
  CHECK(filter.admit(flushed(30.0)) == Void::none);
  // Slow change is followed.
  double flush = 30.0;
  for (int i = 0; i < 60; ++i) CHECK(filter.admit(flushed(flush *= 1.003)) == Void::none);
  // A trace without flushes has none later either.
  BlockFilter without;
  CHECK(without.admit(flushed(0.0)) == Void::none);
  CHECK(without.admit(flushed(30.0)) == Void::flush);
}

TEST_CASE("a block on a slow clock does not count", "[timing][trace]") {
  BlockFilter filter;
  for (int i = 0; i < 10; ++i) CHECK(filter.admit(clocked(2000.0)) == Void::none);
  CHECK(filter.admit(clocked(1941.0)) == Void::none);
  CHECK(filter.admit(clocked(1939.0)) == Void::clock);
  CHECK(filter.admit(clocked(2500.0)) == Void::none);
  // The mean of the block decides, over the samples whose clock is known.
  CHECK(filter.admit(changed([](std::vector<Sample>& s) {
    s[0].clock_mhz = 1800.0;
    s[1].clock_mhz = s[2].clock_mhz = s[3].clock_mhz = 2000.0;
  })) == Void::none);
  CHECK(filter.admit(changed([](std::vector<Sample>& s) {
    s[0].clock_mhz = 1800.0;
    s[1].clock_mhz = s[2].clock_mhz = s[3].clock_mhz = 0.0;
  })) == Void::clock);
  timing::Bands lenient;
  lenient.least_clock = 0.5;
  BlockFilter other(lenient);
  CHECK(other.admit(clocked(2000.0)) == Void::none);
  CHECK(other.admit(clocked(1100.0)) == Void::none);
}

TEST_CASE("a machine that settles early is forgiven, one that sags later is not",
          "[timing][trace]") {
  const auto run = [](int before) {
    BlockFilter filter;
    for (int i = 0; i < 64; ++i) (void)filter.admit(clocked(i < before ? 1980.0 : 1755.0));
    return filter;
  };
  CHECK(run(2).count(Void::clock) == 3);
  CHECK_FALSE(run(2).unstable());
  CHECK(run(20).count(Void::clock) == 21);
  CHECK(run(20).unstable());
}

TEST_CASE("the second clock must agree with the first", "[timing][trace]") {
  // flush + latency is 40 for the samples of arm 0: from 38 to 104.
  const auto with_span = [](double span_us) {
    return BlockFilter().admit(
        changed([&](std::vector<Sample>& samples) { samples[0].span_us = span_us; }));
  };
  CHECK(with_span(37.9) == Void::span);
  CHECK(with_span(38.1) == Void::none);
  CHECK(with_span(103.9) == Void::none);
  CHECK(with_span(104.1) == Void::span);
  CHECK(with_span(0.0) == Void::none);
  timing::Bands bands;
  bands.span_missing_us = 10.0;
  bands.span_factor = 2.0;
  bands.span_allowance_us = 100.0;
  for (const double span_us : {30.5, 179.0}) {
    CHECK(BlockFilter(bands).admit(
              changed([&](std::vector<Sample>& s) { s[0].span_us = span_us; })) == Void::none);
  }
}

TEST_CASE("more than one block in ten makes a machine unstable", "[timing][trace]") {
  const auto run = [](int good, int bad, int starved) {
    BlockFilter filter;
    for (int i = 0; i < good; ++i) (void)filter.admit(quiet());
    for (int i = 0; i < bad; ++i) (void)filter.admit(flushed(60.0));
    for (int i = 0; i < starved; ++i) {
      (void)filter.admit(changed([](std::vector<Sample>& s) { s[1].starved = true; }));
    }
    return filter;
  };
  CHECK_FALSE(run(13, 3, 0).unstable());  // 19 %, but three may be chance
  CHECK(run(12, 4, 0).unstable());
  CHECK_FALSE(run(11, 4, 0).unstable());  // fewer than 16 blocks
  CHECK_FALSE(run(36, 4, 0).unstable());  // 10 %
  CHECK(run(35, 4, 0).unstable());        // more
  // Starved blocks say nothing about the machine, for it or against it.
  CHECK_FALSE(run(20, 0, 40).unstable());
  CHECK(run(20, 0, 40).starving());
  CHECK(run(12, 4, 60).unstable());
  CHECK_FALSE(run(11, 4, 60).unstable());
  CHECK_FALSE(run(36, 0, 4).starving());
  CHECK(run(35, 0, 4).starving());
  CHECK(run(12, 4, 2).why() == "Of 18 blocks 12 count; void: 2 starved, 4 by their flush.");
}

TEST_CASE("reasons have names", "[timing][trace]") {
  CHECK(timing::to_string(Void::none) == "none");
  CHECK(timing::to_string(Void::starved) == "starved");
  CHECK(timing::to_string(Void::flush) == "flush");
  CHECK(timing::to_string(Void::clock) == "clock");
  CHECK(timing::to_string(Void::span) == "span");
}

TEST_CASE("bands that cannot be are refused", "[timing][trace]") {
  const auto refused = [](auto&& change) {
    timing::Bands bands;
    change(bands);
    return !refusal([&] { BlockFilter filter(bands); }).empty();
  };
  CHECK_FALSE(refused([](timing::Bands&) {}));
  CHECK(refused([](timing::Bands& b) { b.flush_us = -1.0; }));
  CHECK(refused([](timing::Bands& b) { b.flush_tolerance = std::nan(""); }));
  CHECK(refused([](timing::Bands& b) { b.least_clock = kInfinity; }));
  CHECK(refused([](timing::Bands& b) { b.span_factor = 0.9; }));
  CHECK(refused([](timing::Bands& b) { b.span_allowance_us = -1.0; }));
}

TEST_CASE("a block that is no order and mirror image is refused", "[timing][trace]") {
  const auto said = [](const Block& block) {
    const std::vector<Block> blocks = {quiet(), block};
    const std::string message = refusal([&] { (void)timing::log_ratios(blocks, 0, 1, 0.0); });
    CHECK(message == refusal([&] { (void)timing::latencies(blocks, 0, 0.0); }));
    CHECK_FALSE(refusal([&] { (void)BlockFilter().admit(block); }).empty());
    CHECK_FALSE(refusal([&] { (void)timing::to_json(blocks); }).empty());
    return message;
  };
  using Samples = std::vector<Sample>;
  CHECK_THAT(said({}), ContainsSubstring("block 1 has not two samples of each arm"));
  CHECK_THAT(said(block({0, 1, 0}, {1, 1, 1})), ContainsSubstring("not two samples"));
  CHECK_THAT(said(block({0, 1, 0, 1}, {1, 1, 1, 1})), ContainsSubstring("mirror image"));
  CHECK_THAT(said(block({0, 1, 0, 0, 1, 0}, {1, 1, 1, 1, 1, 1})),
             ContainsSubstring("has arm 0 more than twice"));
  for (const double bad : {0.0, -1.0, kInfinity, std::nan("")}) {
    CHECK_THAT(said(changed([&](Samples& s) { s[3].latency_us = bad; })),
               ContainsSubstring("latency that is not positive and finite (sample 3)"));
  }
  for (const double bad : {-1.0, kInfinity, std::nan("")}) {
    CHECK_THAT(said(changed([&](Samples& s) { s[2].flush_us = bad; })),
               ContainsSubstring("(sample 2)"));
    CHECK_THAT(said(changed([&](Samples& s) { s[2].span_us = bad; })), ContainsSubstring("span"));
    CHECK_THAT(said(changed([&](Samples& s) { s[2].clock_mhz = bad; })),
               ContainsSubstring("clock"));
  }
}

// ---- From traces to numbers
// ----------------------------------------------------------------------

TEST_CASE("log-ratios and latencies of a trace, by hand", "[timing][trace]") {
  const std::vector<Block> blocks = {block({0, 1, 1, 0}, {10.0, 20.0, 22.0, 12.0}),
                                     block({1, 0, 0, 1}, {30.0, 10.0, 11.0, 31.0})};
  const std::vector<double> plain = timing::log_ratios(blocks, 0, 1, 0.0);
  REQUIRE(plain.size() == 2);
  CHECK(plain[0] == near(0.5 * std::log(10.0 * 12.0 / (20.0 * 22.0))));
  CHECK(plain[1] == near(0.5 * std::log(10.0 * 11.0 / (30.0 * 31.0))));
  const std::vector<double> less = timing::log_ratios(blocks, 0, 1, 2.0);
  CHECK(less[0] == near(0.5 * std::log(8.0 * 10.0 / (18.0 * 20.0))));
  CHECK(timing::log_ratios(blocks, 1, 0, 2.0)[1] == near(-less[1]));
  CHECK(timing::latencies(blocks, 0, 2.0) == std::vector<double>{8.0, 10.0, 8.0, 9.0});
  CHECK(timing::latencies(blocks, 1, 0.0) == std::vector<double>{20.0, 22.0, 30.0, 31.0});
  CHECK(timing::log_ratios({}, 0, 1, 0.0).empty());

  CHECK_THAT(refusal([&] { (void)timing::log_ratios(blocks, 0, 2, 0.0); }),
             ContainsSubstring("no samples of arm 2"));
  CHECK_THAT(refusal([&] { (void)timing::latencies(blocks, 0, 10.0); }),
             ContainsSubstring("10 us is not above the offset of 10 us"));
  CHECK_FALSE(refusal([&] { (void)timing::log_ratios(blocks, 0, 1, 10.5); }).empty());
  CHECK_FALSE(refusal([&] { (void)timing::latencies(blocks, 0, -1.0); }).empty());
  CHECK_FALSE(refusal([&] { (void)timing::latencies(blocks, 0, std::nan("")); }).empty());
}

TEST_CASE("several baselines share the blocks of one round", "[timing][trace]") {
  const std::vector<Block> blocks = {
      block({2, 0, 1, 1, 0, 2}, {40.0, 10.0, 20.0, 20.0, 10.0, 40.0})};
  CHECK(timing::log_ratios(blocks, 0, 1, 0.0)[0] == near(-std::log(2.0)));
  CHECK(timing::log_ratios(blocks, 0, 2, 0.0)[0] == near(-std::log(4.0)));
}

TEST_CASE("a latency rests on blocks, not on samples", "[timing][trace]") {
  std::vector<Block> blocks;
  std::vector<double> means;
  for (int i = 0; i < 8; ++i) {
    // The two samples agree, so as 16 independent ones they would promise too much.
    const double time = 10.0 + 0.1 * (i % 4);
    blocks.push_back(block({0, 1, 1, 0}, {time, 20.0, 20.0, time}));
    means.push_back(time - 1.5);
  }
  const timing::Interval expected = timing::trimmed_interval(means, 0.1, 0.05);
  const timing::Interval seen = timing::latency(blocks, 0, 1.5, 0.1, 0.05);
  CHECK(seen.estimate == near(expected.estimate));
  CHECK(seen.low == near(expected.low));
  CHECK(seen.high == near(expected.high));
}

TEST_CASE("an uncertain offset widens the ratio that it moves", "[timing][trace]") {
  Effects half;
  half.log_time = {std::log(0.5), 0.0};  // 10 us against 20 us
  const std::vector<Block> blocks = alternating(32, half);
  const timing::Interval at2 = timing::launch_free(blocks, 0, 1, {2.0, 2.0, 2.0}, 0.1, 0.05);
  CHECK(at2.estimate ==
        near(timing::trimmed_mean(timing::log_ratios(blocks, 0, 1, 2.0), 0.1).mean));
  CHECK(at2.estimate == Approx(std::log(8.0 / 18.0)).margin(0.001));
  const timing::Interval wide = timing::launch_free(blocks, 0, 1, {2.0, 1.0, 3.0}, 0.1, 0.05);
  CHECK(wide.estimate == at2.estimate);
  CHECK(holds(wide, std::log(9.0 / 19.0)));
  CHECK(holds(wide, std::log(7.0 / 17.0)));
  CHECK(wide.high < std::log(9.0 / 19.0) + 0.002);
  // An interval around a small offset may reach below 0, the cost does not.
  const timing::Interval small = timing::launch_free(blocks, 0, 1, {0.1, -5.0, 0.2}, 0.1, 0.05);
  CHECK(small.high < std::log(0.5) + 0.002);
  CHECK_FALSE(refusal([&] {
                (void)timing::launch_free(blocks, 0, 1, {2.0, 2.5, 3.0}, 0.1, 0.05);
              }).empty());
}

TEST_CASE("a slope is free of what every chain pays once", "[timing][trace]") {
  CHECK(timing::slope(7.0 + 20 * 5.0, 7.0 + 4 * 5.0, 20, 4) == near(5.0));
  CHECK(timing::slope(99.0, 100.0, 2, 1) == near(-1.0));
  CHECK_FALSE(refusal([] { (void)timing::slope(2.0, 1.0, 4, 4); }).empty());
  CHECK_FALSE(refusal([] { (void)timing::slope(2.0, 1.0, 4, 0); }).empty());
  CHECK_FALSE(refusal([] { (void)timing::slope(std::nan(""), 1.0, 4, 1); }).empty());
  CHECK_FALSE(refusal([] { (void)timing::slope(2.0, 0.0, 4, 1); }).empty());
}

// ---- Guards
// --------------------------------------------------------------------------------------

TEST_CASE("an arm that remembers its inputs is found, its baseline is not", "[timing][trace]") {
  Effects effects;
  effects.memory = {-0.02, 0.0};
  const std::vector<Block> blocks = alternating(32, effects);
  const timing::MemoryTest found = timing::memory_test(blocks, 0, 1, 0.0);
  CHECK(found.fired);
  CHECK(holds(found.paired, -0.02));
  CHECK(holds(found.apart, -0.02));
  CHECK_FALSE(timing::memory_test(blocks, 1, 0, 0.0).fired);

  // The offset weighs: of 20 us, 10 are launching, so 2 % of the whole are 4 % of the rest.
  CHECK(timing::memory_test(blocks, 0, 1, 10.0).paired.estimate == Approx(-0.04).epsilon(0.02));
}

TEST_CASE("second meetings that all arms gain from are no finding", "[timing][trace]") {
  Effects effects;
  effects.memory = {-0.02, -0.02};
  effects.slot = 0.01;
  CHECK_FALSE(timing::memory_test(alternating(32, effects), 0, 1, 0.0).fired);
  effects = {};
  effects.memory = {-0.004, 0.0};  // inside the allowance
  CHECK_FALSE(timing::memory_test(alternating(32, effects), 0, 1, 0.0).fired);
  CHECK_FALSE(timing::memory_test(alternating(32, effects), 0, 1, 0.0).uneven);
  effects.memory = {0.02, 0.0};
  CHECK_FALSE(timing::memory_test(alternating(32, effects), 0, 1, 0.0).fired);
  CHECK(timing::memory_test(alternating(32, effects), 0, 1, 0.0).uneven);
}

TEST_CASE("second meetings that only add noise count for nothing", "[timing][trace]") {
  auto blocks = alternating(32, {});
  CHECK_FALSE(timing::memory_test(blocks, 0, 1, 0.0).uneven);
  // Now and then quicker and now and then slower, as much: none of the two is favoured.
  for (std::size_t i = 0; i < blocks.size(); i += 4) {
    auto& samples = blocks[i].samples;
    const auto second = std::find_if(samples.rbegin(), samples.rend(),
                                     [](const Sample& one) { return one.arm == 0; });
    second->latency_us *= i % 8 == 0 ? 3.0 : 1.0 / 3.0;
  }
  const timing::MemoryTest memory = timing::memory_test(blocks, 0, 1, 0.0);
  CHECK(memory.uneven);
  CHECK_FALSE(memory.fired);
  CHECK(std::abs(memory.paired.estimate) < 0.05);
}

TEST_CASE("an arm that is quicker after itself does not remember, it carries over",
          "[timing][trace]") {
  Effects effects;
  effects.kappa = {0.03, 0.0};
  const std::vector<Block> blocks = alternating(32, effects);
  const timing::MemoryTest memory = timing::memory_test(blocks, 0, 1, 0.0);
  CHECK(memory.paired.high < -0.005);  // alone it would have accused
  CHECK(holds(memory.paired, -0.015));
  CHECK(holds(memory.apart, 0.0));
  CHECK_FALSE(memory.fired);
  CHECK(memory.uneven);

  const timing::CarryOver carry = timing::carry_over(blocks, 0, 1, 0.0);
  CHECK(carry.fired);
  CHECK(holds(carry.difference, 0.03));
  CHECK(holds(carry.candidate, 0.03));
  CHECK(holds(carry.baseline, 0.0));
  CHECK(holds(timing::carry_over(blocks, 1, 0, 0.0).difference, -0.03));
  CHECK(timing::carry_over(blocks, 1, 0, 0.0).fired);
  // It moves the ratio by a quarter of itself.
  const double ratio = timing::trimmed_mean(timing::log_ratios(blocks, 0, 1, 0.0), 0.1).mean;
  CHECK(ratio == Approx(-0.03 / 4).margin(0.0003));
  // First meetings are free of it.
  const auto first = timing::first_meetings(blocks);
  CHECK(timing::trimmed_mean(timing::log_ratios(first, 0, 1, 0.0), 0.1).mean ==
        Approx(0.0).margin(0.0005));
  CHECK(timing::latencies(first, 0, 0.0).at(0) == timing::latencies(first, 0, 0.0).at(1));
}

TEST_CASE("carry-over that all arms have, memory and drift leave the contrast alone",
          "[timing][trace]") {
  Effects effects;
  effects.kappa = {0.03, 0.03};
  effects.memory = {-0.05, -0.01};
  effects.slot = 0.01;
  const timing::CarryOver carry = timing::carry_over(alternating(32, effects), 0, 1, 0.0);
  CHECK_FALSE(carry.fired);
  CHECK(holds(carry.difference, 0.0));
  effects.kappa = {0.002, 0.0};  // off zero, but too little to matter
  const timing::CarryOver small = timing::carry_over(alternating(64, effects), 0, 1, 0.0);
  CHECK(small.difference.low > 0.0);
  CHECK_FALSE(small.fired);
}

TEST_CASE("what guards measure of one arm against another has the other sign the other way",
          "[timing][trace]") {
  ouroboros_test::TraceTruth truth;
  truth.arms = 3;
  truth.log_time = {0.0, 0.05, 0.02};
  truth.memory = {-0.02, 0.01};
  truth.kappa = {0.01, 0.0};
  truth.clock = {0.0, 0.01};
  const auto blocks = ouroboros_test::TraceMachine(truth, 11).blocks(96);
  const auto mirrored = [](const timing::Interval& one, const timing::Interval& other) {
    REQUIRE(std::isfinite(one.low));
    CHECK(one.estimate == near(-other.estimate));
    CHECK(one.low == near(-other.high));
    CHECK(one.high == near(-other.low));
  };
  mirrored(timing::memory_test(blocks, 0, 1, 2.0).paired,
           timing::memory_test(blocks, 1, 0, 2.0).paired);
  mirrored(timing::memory_test(blocks, 0, 1, 2.0).apart,
           timing::memory_test(blocks, 1, 0, 2.0).apart);
  mirrored(timing::carry_over(blocks, 0, 1, 2.0).difference,
           timing::carry_over(blocks, 1, 0, 2.0).difference);
  mirrored(timing::cycle_check(blocks, 0, 1).difference,
           timing::cycle_check(blocks, 1, 0).difference);
  const timing::Interval offset{2.0, 1.5, 2.5};
  mirrored(timing::launch_free(blocks, 0, 1, offset, 0.1, 0.05),
           timing::launch_free(blocks, 1, 0, offset, 0.1, 0.05));
}

TEST_CASE("guards of three arms use the blocks where neither is in the middle", "[timing][trace]") {
  const std::vector<std::vector<std::size_t>> orders = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                        {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  const auto trace = [&](double memory, double kappa, double slot, int copies) {
    std::vector<Block> blocks;
    for (int i = 0; i < 6 * copies; ++i) {
      std::vector<std::size_t> order = orders[static_cast<std::size_t>(i) % 6];
      order.insert(order.end(), order.rbegin(), order.rend());
      std::vector<double> times;
      for (std::size_t at = 0; at < 6; ++at) {
        double log_time = slot * static_cast<double>(at) + 0.0004 * ((i / 6) % 3 - 1);
        if (order[at] == 0 && at >= 3) log_time += memory;
        if (order[at] == 0 && at == 3) log_time -= kappa;
        times.push_back(20.0 * std::exp(log_time));
      }
      blocks.push_back(block(order, times));
    }
    return blocks;
  };
  const auto both = trace(-0.02, 0.01, 0.003, 6);
  CHECK(timing::memory_test(both, 0, 1, 0.0).apart.estimate == Approx(-0.02).margin(1e-4));
  CHECK(timing::memory_test(both, 0, 1, 0.0).fired);
  CHECK(timing::carry_over(both, 0, 1, 0.0).difference.estimate == Approx(0.01).margin(1e-4));
  CHECK(timing::carry_over(both, 1, 2, 0.0).difference.estimate == Approx(0.0).margin(1e-4));
  CHECK_FALSE(timing::carry_over(both, 1, 2, 0.0).fired);
  // Groups of two blocks are too small for carry-over; memory does with the third group.
  auto few = trace(-0.02, 0.01, 0.003, 1);
  for (const Block& more : trace(-0.02, 0.01, 0.003, 4)) {
    if (more.samples[2].arm == 2) few.push_back(more);
  }
  CHECK(unbounded(timing::carry_over(few, 0, 1, 0.0).difference));
  CHECK(holds(timing::memory_test(few, 0, 1, 0.0).apart, -0.02));
}

TEST_CASE("too few blocks fire no guard", "[timing][trace]") {
  Effects effects;
  effects.memory = {-0.5, 0.0};
  effects.kappa = {0.5, 0.0};
  for (const int count : {0, 1, 3, 6}) {
    const std::vector<Block> blocks = alternating(count, effects);
    CHECK_FALSE(timing::memory_test(blocks, 0, 1, 0.0).fired);
    CHECK(unbounded(timing::memory_test(blocks, 0, 1, 0.0).apart));
    CHECK_FALSE(timing::carry_over(blocks, 0, 1, 0.0).fired);
    CHECK(unbounded(timing::carry_over(blocks, 0, 1, 0.0).difference));
    CHECK_FALSE(timing::placement(blocks, 0, 0.0).fired);
    CHECK(timing::placement(blocks, 0, 0.0).sd.high == kInfinity);
  }
  CHECK_FALSE(timing::cycle_check(alternating(3, effects), 0, 1).clock_confounded);
  CHECK_FALSE(refusal([] { (void)timing::memory_test({}, 1, 1, 0.0); }).empty());
  CHECK_FALSE(refusal([] { (void)timing::carry_over({}, 1, 1, 0.0); }).empty());
  CHECK_FALSE(refusal([] { (void)timing::cycle_check({}, 1, 1); }).empty());
}

TEST_CASE("a ratio that is another one in cycles is confounded", "[timing][trace]") {
  const auto with_clocks = [](double candidate, double baseline) {
    std::vector<Block> blocks = alternating(32, {});
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      for (Sample& sample : blocks[i].samples) {
        sample.clock_mhz = sample.arm == 0 ? candidate : baseline;
        sample.clock_mhz += i % 2 == 0 ? 0.5 : -0.5;
      }
    }
    return blocks;
  };
  const timing::CycleCheck fired = timing::cycle_check(with_clocks(1970.0, 1980.0), 0, 1);
  CHECK(fired.clock_confounded);
  CHECK(fired.blocks == 32);
  CHECK(fired.difference.estimate == Approx(std::log(1970.0 / 1980.0)).margin(1e-5));
  CHECK_FALSE(timing::cycle_check(with_clocks(1980.0, 1980.0), 0, 1).clock_confounded);
  CHECK_FALSE(timing::cycle_check(with_clocks(1976.0, 1980.0), 0, 1).clock_confounded);  // 0.2 %
  CHECK(timing::cycle_check(with_clocks(1980.0, 1972.0), 0, 1).clock_confounded);
  // Blocks with an unknown clock are left out.
  std::vector<Block> blocks = with_clocks(1970.0, 1980.0);
  for (std::size_t i = 3; i < 32; ++i) blocks[i].samples[i % 4].clock_mhz = 0.0;
  CHECK(timing::cycle_check(blocks, 0, 1).blocks == 3);
  CHECK_FALSE(timing::cycle_check(blocks, 0, 1).clock_confounded);
}

TEST_CASE("placement is what sets of pages add to a block's own noise", "[timing][trace]") {
  // Pages of +3 % and -3 % in turn, two blocks each; a slow drift and a gain at every second
  // meeting belong to neither.
  const auto trace = [](double pages, std::size_t per_set) {
    std::vector<Block> blocks;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::size_t set = i / per_set;
      const double page = set % 2 == 0 ? pages : -pages;
      const double noise = 0.001 * (static_cast<double>(i * 7 % 5) - 2.0);
      const double first = 20.0 * std::exp(page + noise + 0.0005 * static_cast<double>(i));
      const double second = first * std::exp(0.05 - 2.0 * noise);
      blocks.push_back(block({0, 1, 1, 0}, {first, 20.0, 20.0, second}, set));
    }
    return blocks;
  };
  // Neighbours on different sets differ by 6 %: the variance of one is half of the square.
  for (const std::size_t per_set : {std::size_t{1}, std::size_t{2}}) {
    const timing::Placement found = timing::placement(trace(0.03, per_set), 0, 0.0);
    CHECK(found.fired);
    CHECK(found.changes == (per_set == 1 ? 63 : 31));
    CHECK(found.sd.estimate == Approx(0.06 / std::sqrt(2.0)).epsilon(0.02));
    CHECK_FALSE(timing::placement(trace(0.0, per_set), 0, 0.0).fired);
    CHECK(timing::placement(trace(0.0, per_set), 0, 0.0).sd.estimate < 0.001);
  }
  // Where neighbours share a set, what they differ by is noise of blocks, not of pages.
  std::vector<Block> uneven = trace(0.0, 2);
  for (std::size_t i = 0; i < uneven.size(); ++i) {
    const double jitter = (i % 2 == 0 ? 0.01 : -0.01) - 0.0005 * static_cast<double>(i);
    for (Sample& sample : uneven[i].samples) sample.latency_us *= std::exp(jitter);
  }
  CHECK_FALSE(timing::placement(uneven, 0, 0.0).fired);
  CHECK(timing::placement(uneven, 0, 0.0).sd.estimate < 0.004);
  CHECK(timing::placement(uneven, 0, 0.0).within_sd == Approx(0.0142).epsilon(0.05));
  const timing::Placement one_set = timing::placement(trace(0.0, 64), 0, 0.0);
  CHECK(one_set.changes == 0);
  CHECK(one_set.sd.high == kInfinity);
}

TEST_CASE("quantiles lie between order statistics", "[timing][trace]") {
  const std::vector<double> values = {5.0, 1.0, 2.0, 4.0, 3.0};
  const timing::Quantiles five = timing::quantiles(values);
  CHECK(five.p5 == near(1.2));
  CHECK(five.p50 == near(3.0));
  CHECK(five.p95 == near(4.8));
  CHECK(timing::quantiles(std::vector<double>{7.0}).p95 == 7.0);
  CHECK_FALSE(refusal([] { (void)timing::quantiles({}); }).empty());
  CHECK_FALSE(refusal([] { (void)timing::quantiles(std::vector<double>{kInfinity}); }).empty());
}

TEST_CASE("two modes show as a median beside the trimmed mean", "[timing][trace]") {
  const auto modes = [](int of_ten, double step) {
    std::vector<double> values;
    for (int i = 0; i < 200; ++i) {
      values.push_back((i % 10 < of_ten ? 20.0 * (1.0 + step) : 20.0) + 0.01 * (i % 7));
    }
    return timing::multimodality(values, 0.1);
  };
  const timing::Multimodality three = modes(3, 0.08);
  CHECK(three.fired);
  CHECK(three.difference < -0.01);
  CHECK(three.quantiles.p95 > 21.5);
  CHECK(three.quantiles.p5 < 20.1);
  CHECK(modes(7, 0.08).fired);
  CHECK_FALSE(modes(0, 0.08).fired);
  CHECK_FALSE(modes(1, 0.08).fired);  // outliers, trimmed away
  CHECK_FALSE(modes(3, 0.02).fired);  // 0.6 % apart
  // Few values that stray: the bound grows with the error.
  const std::vector<double> few = {10.0, 10.1, 10.2, 14.0, 9.0};
  CHECK(timing::multimodality(few, 0.1).bound > 0.05);
  CHECK_FALSE(timing::multimodality(few, 0.1).fired);
  CHECK_FALSE(refusal([] {
                (void)timing::multimodality(std::vector<double>{1.0, 0.0, 1.0, 1.0}, 0.1);
              }).empty());
}

TEST_CASE("a decision that random signs reach as well is ambiguous", "[timing][trace]") {
  const timing::Plan plan;
  // 15 blocks of a small win and two enormous losses, which trimming hides from the interval.
  std::vector<double> hidden(32, -0.01);
  for (std::size_t i = 0; i < hidden.size(); ++i) hidden[i] += i % 2 == 0 ? 0.001 : -0.001;
  hidden[3] = 0.15;
  hidden[20] = 0.16;
  const timing::Look look = timing::look(hidden, plan, timing::Mode::decide, false);
  REQUIRE(look.decision == Decision::faster);
  const timing::Conclusion against = timing::conclude(look, hidden, plan, 1);
  CHECK(against.contradicted);
  CHECK(against.decision == Decision::ambiguous);
  CHECK(against.sign_flip_p > 0.05);
  CHECK(against.sign_flip_p == timing::sign_flip_p_value(hidden, 1));

  hidden[3] = hidden[20] = -0.01;
  const timing::Look clean = timing::look(hidden, plan, timing::Mode::decide, false);
  const timing::Conclusion agreed = timing::conclude(clean, hidden, plan, 1);
  CHECK_FALSE(agreed.contradicted);
  CHECK(agreed.decision == Decision::faster);
}

TEST_CASE("the sign-flip test contradicts only what it could have confirmed", "[timing][trace]") {
  const timing::Plan plan;
  const auto concluded = [&](std::size_t blocks) {
    const std::vector<double> values(blocks, -0.1);
    return timing::conclude(timing::look(values, plan, timing::Mode::decide, true), values, plan,
                            1);
  };
  // Of 2^5 sign vectors 2 are as extreme as the one seen: 6 %, never less.
  CHECK(concluded(5).sign_flip_p == near(1.0 / 16.0));
  CHECK(concluded(5).decision == Decision::faster);
  CHECK(concluded(6).decision == Decision::faster);
  CHECK(concluded(0).decision == Decision::ambiguous);
  CHECK(concluded(0).sign_flip_p == 1.0);
  // `same` claims no difference, so there is nothing to contradict.
  std::vector<double> equal(16, 0.0005);
  const timing::Look same = timing::look(equal, plan, timing::Mode::report, false);
  timing::Look forced = same;
  forced.decision = Decision::same;
  CHECK(timing::conclude(forced, equal, plan, 1).decision == Decision::same);
  CHECK_FALSE(timing::conclude(forced, equal, plan, 1).contradicted);
  equal.pop_back();
  CHECK_FALSE(refusal([&] { (void)timing::conclude(same, equal, plan, 1); }).empty());
}

// ---- Traces in files
// -----------------------------------------------------------------------------

TEST_CASE("a trace survives its file bit by bit", "[timing][trace]") {
  std::vector<Block> blocks = alternating(3, {});
  blocks[1].set = 7;
  blocks[2].code = 15;
  blocks[2].samples[1].starved = true;
  blocks[2].samples[2].latency_us = 0.1 + 0.2;
  blocks[2].samples[3] = {blocks[2].samples[3].arm, 1e-300, 0.0, 0.0, 0.0, false};
  const std::string text = timing::to_json(blocks);
  CHECK(timing::trace_from_json(text) == blocks);
  CHECK(std::count(text.begin(), text.end(), '\n') == 5);  // a line for each block, head and tail
  CHECK(timing::trace_from_json(timing::to_json({})).empty());
}

TEST_CASE("a file that is no trace says where", "[timing][trace]") {
  const std::string good = timing::to_json(std::vector<Block>{quiet()});
  const auto said = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    return refusal([&] { (void)timing::trace_from_json(text); });
  };
  CHECK(said("\"set\"", "\"set\"").empty());
  CHECK_THAT(said("{", "["), ContainsSubstring("malformed at byte"));
  CHECK_THAT(said("\"trace_version\": 1", "\"trace_version\": 2"),
             ContainsSubstring("'trace_version' is 2, but this library reads version 1"));
  CHECK_THAT(said("\"trace_version\": 1, ", ""),
             ContainsSubstring("lacks the key 'trace_version'"));
  CHECK_THAT(said("latency_us", "latency_ms"), ContainsSubstring("'columns' must be"));
  CHECK_THAT(said("\"set\":0", "\"set\":-1"),
             ContainsSubstring("'blocks[0].set' must be an integer that is not negative"));
  CHECK_THAT(said("\"set\":0", "\"set\":0,\"more\":1"),
             ContainsSubstring("'blocks[0]' has the unknown key 'more'"));
  CHECK_THAT(said("[1,20.0", "[1,\"20\""),
             ContainsSubstring("'blocks[0].samples[1][1]' must be a number, but is string"));
  CHECK_THAT(said("[1,20.0,", "[1,"), ContainsSubstring("must have 6 values, but has 5"));
  CHECK_THAT(said("false", "0"), ContainsSubstring("'blocks[0].samples[0][5]' must be true or"));
  CHECK_THAT(said("[0,", "[1,"), ContainsSubstring("'blocks[0]' is not an order of arms"));
  CHECK_THAT(said("[1,20.0", "[1,-20.0"), ContainsSubstring("'blocks[0]' has a latency"));
  CHECK_THAT(refusal([] { (void)timing::trace_from_json("[]"); }),
             ContainsSubstring("The trace JSON must be an object, but is array."));
}
