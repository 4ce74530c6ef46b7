// Comparing host candidates: each in a sealed process of its own, eager mode beside them and not
// timed.

#include <ATen/ops/add.h>

#include <string>

#include "catch.hpp"
#include "judge_problems.hpp"
#include "ouroboros/referee.hpp"
#include "processes.hpp"

using namespace ouroboros;
using ouroboros_test::has_no_children;
using ouroboros_test::problem_of;

namespace {

const std::string signature =
    "extern \"C\" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) ";
const std::string honest =
    signature + "{ for (int64_t i = 0; i < rows * cols; ++i) out[i] = 2 * x[i] + 1; }\n";

Problem affine() {
  auto problem = problem_of([](const Tensors& in) { return Tensors{in[0] * 2 + 1}; });
  problem.axes[0].maximum = 64;
  problem.axes[1].maximum = 256;
  problem.timed = {{{"rows", 33}, {"cols", 100}}};
  return problem;
}

Contender host(const std::string& name, const std::string& source) {
  return {name, Candidate{source, name, "cpp"}};
}

Verdict compared(const std::string& b, Stage until = Stage::time) {
  Options options;
  options.until = until;
  options.timing.looks = {16};
  options.timing.budget_seconds = 60;  // Blocks end it, however slow the machine is.
  options.gate.runs = 2;
  auto verdict = Referee(options).compare(affine(), host("a", honest), host("b", b));
  UNSCOPED_INFO(verdict.to_json(1));
  return verdict;
}

}  // namespace

TEST_CASE("two host candidates are timed against one another, and nothing else is", "[referee]") {
  const auto verdict = compared(honest, Stage::gate);
  REQUIRE(verdict.status == Status::ok);
  REQUIRE(verdict.timing.cells.size() == 1);
  const auto& cell = verdict.timing.cells[0];
  REQUIRE(cell.baselines.size() == 1);
  CHECK(cell.baselines[0].name == "b");
  CHECK(cell.baselines[0].status == "timed");
  CHECK(cell.baselines[0].blocks == 16);
  CHECK(cell.baselines[0].latency_us.estimate > 0);
  CHECK(verdict.gate.ran);
  CHECK(verdict.gate.baseline == "b");
  CHECK(has_no_children());
}

TEST_CASE("who does not do the same is no rival", "[referee]") {
  const auto [source, reason] = GENERATE(table<std::string, std::string>({
      {signature + "{ for (int64_t i = 0; i < rows * cols; ++i) out[i] = 2 * x[i]; }\n",
       "does not compute what the reference computes"},
      {signature + "{ *(volatile int*)nullptr = 0; }\n", "invalid address"},
      {"extern \"C\" void run_float64(const double*, double*, int64_t, int64_t) {}\n", ""},
      {honest + "static int nobody = [] { __builtin_trap(); return 1; }();\n", ""},
  }));
  if (reason.empty()) {
    CHECK_THROWS_WITH(static_cast<void>(compared(source)),
                      Catch::Matchers::Contains("'b' cannot be compared with"));
    return;
  }
  const auto verdict = compared(source);
  CHECK(verdict.status == Status::ok);
  const auto& baseline = verdict.timing.cells.at(0).baselines.at(0);
  CHECK(baseline.status == "unavailable");
  CHECK_THAT(baseline.reason, Catch::Matchers::Contains(reason));
}

TEST_CASE("a rival that fails among the samples is no fault of the candidate's", "[referee]") {
  const auto verdict =
      compared("static int calls = 0;\n" + signature +
               "{ for (int64_t i = 0; i < rows * cols; ++i) out[i] = 2 * x[i] + 1;\n"
               "  if (++calls > 20) *(volatile int*)nullptr = 0; }\n");
  CHECK(verdict.status == Status::infrastructure_error);
  CHECK_THAT(verdict.summary, Catch::Matchers::Contains("the baseline 'b' failed"));
  CHECK(has_no_children());
}

TEST_CASE("a rival that does not compile is misuse", "[referee]") {
  CHECK_THROWS_WITH(static_cast<void>(compared("int x")),
                    Catch::Matchers::Contains("'b' cannot be compared with"));
}
