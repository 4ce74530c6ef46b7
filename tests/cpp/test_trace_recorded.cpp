// Guards and intervals on traces that an H200 gave: the same plan twice, loaded twice.

#include <cmath>
#include <fstream>
#include <iterator>
#include <string>

#include "catch.hpp"
#include "ouroboros/trace.hpp"

using namespace ouroboros::timing;

namespace {

std::vector<Block> recorded(const std::string& name) {
  std::ifstream file(OUROBOROS_SOURCE_DIR "/tests/data/traces/" + name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto blocks = trace_from_json(text);
  CHECK(to_json(blocks) == text);
  return blocks;
}

}  // namespace

TEST_CASE("recorded traces of a thing against itself show no difference and fire no guard") {
  for (const char* name :
       {"h200_softmax_1024x4096_same.json", "h200_rmsnorm_8192x4096_same.json"}) {
    CAPTURE(name);
    const auto blocks = recorded(name);
    BlockFilter filter;
    for (const auto& block : blocks) {
      CHECK(filter.admit(block) == Void::none);
    }
    CHECK_FALSE(filter.unstable());
    const auto logs = log_ratios(blocks, 0, 1, 2.9);
    const auto interval = trimmed_interval(logs, 0.1, 0.01);
    CHECK(interval.low < 0);
    CHECK(interval.high > 0);
    CHECK(std::abs(interval.estimate) < 0.003);
    CHECK_FALSE(memory_test(blocks, 0, 1, 2.9).fired);
    CHECK_FALSE(carry_over(blocks, 0, 1, 2.9).fired);
    CHECK_FALSE(cycle_check(blocks, 0, 1).clock_confounded);
    CHECK_FALSE(multimodality(latencies(blocks, 0, 2.9), 0.1).fired);
  }
}

TEST_CASE("a win that is put into a recorded trace is found, and so is a memory") {
  auto blocks = recorded("h200_softmax_1024x4096_same.json");
  for (auto& block : blocks) {
    bool met = false;
    for (auto& sample : block.samples) {
      if (sample.arm == 0) {
        // One per cent at both meetings, and five more at the second.
        sample.latency_us *= met ? 0.94 : 0.99;
        met = true;
      }
    }
  }
  Plan plan;
  const auto logs = log_ratios(blocks, 0, 1, 0.0);
  const auto found = look(logs, plan, Mode::decide, true);
  CHECK(found.decision == Decision::faster);
  CHECK(found.log_ratio.low < std::log(0.9646));
  CHECK(found.log_ratio.high > std::log(0.9646));
  const auto memory = memory_test(blocks, 0, 1, 0.0);
  CHECK(memory.fired);
  CHECK(memory.paired.low < std::log(0.94 / 0.99));
  CHECK(memory.paired.high > std::log(0.94 / 0.99));
}
