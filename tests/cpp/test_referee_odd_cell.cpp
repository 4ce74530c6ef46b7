// A shape beside the timed ones: who leaves something out there alone is found out.

#include <ATen/TensorOperators.h>
#include <ATen/ops/mul.h>

#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "doubling_plans.hpp"
#include "referee/odd_cell.hpp"

using namespace ouroboros;

namespace {

constexpr std::int64_t timed = 1000;

/// Doubles the first of n elements, as many as `done` says.
class Plans final : public referee::PlanSource {
 public:
  explicit Plans(std::function<std::int64_t(std::int64_t)> done) : done_(std::move(done)) {}

  std::vector<referee::Planned> plans(const std::vector<referee::PlanRequest>& requests) override {
    std::vector<referee::Planned> all;
    for (const auto& request : requests) {
      LaunchPlan plan;
      plan.origin = PlanOrigin::dry_trace;
      plan.language = "triton";
      plan.target = "sm_90";
      plan.buffers = referee::device::signature_of(request.buffers);
      plan.images = {ouroboros_test::image("cuda13_sm_90.cubin")};
      plan.modules = {{ModuleOrigin::candidate, 0}};
      const auto count = static_cast<std::int64_t>(plan.buffers[0].bytes / 4);
      asked.insert(count);
      plan.launches = {ouroboros_test::kernel(0, "scale", 0, 1, done_(count))};
      all.push_back({{plan}, {}});
    }
    return all;
  }

  [[nodiscard]] Compilation record() const override { return {}; }

  std::set<std::int64_t> asked;

 private:
  std::function<std::int64_t(std::int64_t)> done_;
};

Problem doubling() {
  auto problem = ouroboros_test::doubling();
  problem.axes = {{.name = "n", .maximum = 8192}};
  problem.timed = {{{"n", timed}}};
  return problem;
}

std::optional<referee::Race::Failure> checked(const Problem& problem,
                                              const std::shared_ptr<Plans>& plans,
                                              std::uint64_t seed) {
  setenv("OUROBOROS_LIBCUDA", OUROBOROS_GOOD_FAKE_CUDA, 1);
  Compiled compiled;
  compiled.candidate = {"", "candidate", "triton"};
  compiled.plans = plans;
  return referee::check_odd_cell(problem, compiled, DType::float32, problem.timed, seed, {})
      .failure;
}

}  // namespace

TEST_CASE("a tail that is left out in large shapes alone is wrong", "[referee]") {
  const auto tailless = [](std::int64_t n) { return n > 900 ? n / 8 * 8 : n; };
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto failure = checked(doubling(), std::make_shared<Plans>(tailless), seed);
    REQUIRE(failure.has_value());
    CHECK(failure->status == Status::incorrect);
    CHECK(failure->finding.kind == "wrong_values");
    CHECK_THAT(failure->finding.evidence, ContainsSubstring("n = 99"));
  }
}

TEST_CASE("who is right in a shape beside the timed ones hears nothing of it", "[referee]") {
  const auto plans = std::make_shared<Plans>([](std::int64_t n) { return n; });
  CHECK_FALSE(checked(doubling(), plans, 1).has_value());
  REQUIRE(plans->asked.size() == 1);
  CHECK(*plans->asked.begin() < timed);
  CHECK(*plans->asked.begin() % 2 == 1);
}

TEST_CASE("a shape beside the timed ones meets inputs of one number, where that has an answer",
          "[referee]") {
  const auto with = [](double of_constants) {
    auto problem = doubling();
    problem.reference = [=](const Tensors& inputs) {
      const bool constant = inputs[0].eq(inputs[0].view(-1).select(0, 0)).all().item().toBool();
      return Tensors{at::mul(inputs[0], 2) + (constant ? of_constants : 0.0)};
    };
    return checked(problem, std::make_shared<Plans>([](std::int64_t n) { return n; }), 1);
  };
  const auto failure = with(1.0);
  REQUIRE(failure.has_value());
  CHECK_THAT(failure->finding.evidence, ContainsSubstring("family constant"));
  CHECK_FALSE(with(std::numeric_limits<double>::quiet_NaN()).has_value());
}

TEST_CASE("there is no such shape where extents are short, or the reference takes none",
          "[referee]") {
  const auto plans = std::make_shared<Plans>([](std::int64_t) { return 0; });
  auto short_ones = doubling();
  short_ones.timed = {{{"n", 100}}};
  CHECK_FALSE(checked(short_ones, plans, 1).has_value());
  auto even = doubling();
  even.reference = [](const Tensors& inputs) {
    if (inputs[0].numel() % 2 != 0) throw std::runtime_error("even extents only");
    return Tensors{at::mul(inputs[0], 2)};
  };
  CHECK_FALSE(checked(even, plans, 1).has_value());
  CHECK(plans->asked.empty());
}
