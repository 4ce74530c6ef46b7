#include <cmath>

#include "catch.hpp"
#include "ouroboros/timing.hpp"
#include "timing_simulation.hpp"

using ouroboros_test::Approx;
using ouroboros_test::Noise;
using ouroboros_test::Tally;
namespace timing = ouroboros::timing;

// Error rates on synthetic machines of which the truth is known. Seeds are fixed, so a result
// changes only with the code; bounds leave three standard errors of the replications, and stand
// where the rule is broken without its correction. docs/timing.md has the same figures from more
// replications.

namespace {

Noise noise_of(double spread) {
  Noise noise;
  noise.spread = spread;
  return noise;
}

/// Three standard errors of a share `p` seen in `runs` replications.
double three_errors(double p, int runs) { return 3.0 * std::sqrt(p * (1.0 - p) / runs); }

}  // namespace

TEST_CASE("identical arms are rarely told apart, however often one looks", "[timing]") {
  const timing::Plan plan;
  const int runs = 2000;
  for (const double spread : {0.01, 0.03, 0.06}) {
    INFO("spread " << spread);
    const Tally tally = simulate(noise_of(spread), 0.0, plan, timing::Mode::decide, runs, 11);
    CHECK(tally.share(tally.faster + tally.slower) <= 0.05 + three_errors(0.05, runs));
    CHECK(tally.share(tally.covered) >= 0.95 - three_errors(0.05, runs));
    // The control: without the correction the same looks err three times as often.
    CHECK(ouroboros_test::naive_false_decisions(noise_of(spread), plan, runs, 11) > 0.12);
  }
}

TEST_CASE("the plain interval covers the truth as often as it says", "[timing]") {
  const int runs = 3000;
  for (const int blocks : {16, 64, 256}) {
    for (const double truth : {0.0, -0.02, 0.5}) {
      INFO(blocks << " blocks, truth " << truth);
      const double coverage =
          ouroboros_test::fixed_coverage(noise_of(0.03), truth, blocks, runs, 5);
      CHECK(coverage == Approx(0.95).margin(0.005 + three_errors(0.05, runs)));
    }
  }
}

TEST_CASE("a true win of 2 % is found within the expected blocks", "[timing]") {
  struct Expected {
    double spread, least_blocks, most_blocks;
  };
  const timing::Plan plan;
  const int runs = 1000;
  for (const Expected& expected :
       {Expected{0.01, 16, 18}, Expected{0.03, 30, 38}, Expected{0.06, 90, 110}}) {
    INFO("spread " << expected.spread);
    const Tally tally =
        simulate(noise_of(expected.spread), -0.02, plan, timing::Mode::decide, runs, 3);
    CHECK(tally.share(tally.faster) >= 0.99);
    CHECK(tally.slower == 0);
    CHECK(tally.blocks / runs >= expected.least_blocks);
    CHECK(tally.blocks / runs <= expected.most_blocks);
    // As a loss of 2 % it is found as well.
    const Tally loss =
        simulate(noise_of(expected.spread), 0.02, plan, timing::Mode::decide, runs, 3);
    CHECK(loss.share(loss.slower) >= 0.99);
  }
}

TEST_CASE("stopping on a decision flatters the winner, stopping on precision does not",
          "[timing]") {
  const timing::Plan plan;
  const int runs = 1000;
  const Tally decide = simulate(noise_of(0.06), -0.02, plan, timing::Mode::decide, runs, 9);
  const Tally report = simulate(noise_of(0.06), -0.02, plan, timing::Mode::report, runs, 9);
  CHECK(decide.error / runs < -0.003);
  CHECK(std::abs(report.error / runs) < 0.0006);
  CHECK(report.share(report.covered) >= 0.97);
}

TEST_CASE("merging gives autocorrelated blocks most of their coverage back", "[timing]") {
  const int runs = 2000;
  const auto none = ouroboros_test::autocorrelated_coverage(0.0, 256, runs, 1);
  const auto some = ouroboros_test::autocorrelated_coverage(0.3, 256, runs, 1);
  const auto much = ouroboros_test::autocorrelated_coverage(0.6, 256, runs, 1);
  CHECK(none.treated >= 0.95 - three_errors(0.05, runs));
  CHECK(some.plain < 0.88);
  CHECK(some.treated > 0.895);
  CHECK(much.plain < 0.72);
  CHECK(much.treated > 0.90);
}

TEST_CASE("intervals hold the truth though copies of the code differ", "[timing]") {
  const int runs = 2000;
  const auto none = ouroboros_test::copies_coverage(0.0, 1024, runs, 1);
  const auto some = ouroboros_test::copies_coverage(0.003, 1024, runs, 1);
  CHECK(none.grouped >= 0.95 - three_errors(0.05, runs));
  CHECK(some.plain < 0.80);
  CHECK(some.grouped >= 0.95 - three_errors(0.05, runs));
}

TEST_CASE("sign-flip p-values are uniform for identical arms and small for others", "[timing]") {
  const int runs = 600;
  int rejected = 0;
  int found = 0;
  for (int run = 0; run < runs; ++run) {
    const auto seed = static_cast<std::uint64_t>(run);
    ouroboros_test::Machine same(noise_of(0.03), 0.0, seed);
    rejected += timing::sign_flip_p_value(same.blocks(12), seed) <= 0.05 ? 1 : 0;
    ouroboros_test::Machine faster(noise_of(0.01), -0.03, seed);
    found += timing::sign_flip_p_value(faster.blocks(12), seed) <= 0.05 ? 1 : 0;
  }
  CHECK(std::abs(rejected / static_cast<double>(runs) - 0.05) <= three_errors(0.05, runs));
  CHECK(found > 0.98 * runs);
}

TEST_CASE("the gate passes real wins and hardly any others", "[timing]") {
  const int runs = 4000;
  const auto rate = [&](int count, double between, double aa, double truth) {
    return ouroboros_test::gate_pass_rates({count, between, 0.0015, aa}, truth, runs, 2).passed;
  };
  // One side of a 95 % interval: 2.5 %.
  for (const int count : {3, 5, 10}) {
    for (const double between : {0.0, 0.002, 0.005, 0.01}) {
      CHECK(rate(count, between, 0.0, 0.0) <= 0.025 + three_errors(0.025, runs));
      CHECK(rate(count, between, 0.0015, 0.0) <= 0.025);
    }
  }
  CHECK(rate(5, 0.001, 0.0005, 0.01) == 0.0);
  CHECK(rate(5, 0.001, 0.0, -0.01) > 0.99);
  CHECK(rate(5, 0.002, 0.0, -0.01) > 0.94);
  // Processes that differ by 1 % are not stable enough for a win of 2 %, but they are for 10 %.
  CHECK(rate(5, 0.01, 0.0, -0.02) < 0.10);
  CHECK(rate(5, 0.01, 0.0, -0.10) > 0.95);
}
