// Where extents are fixed and large, fewer cases are drawn.

#include <ATen/TensorOperators.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <set>
#include <string>

#include "catch.hpp"
#include "judge/shapes/affordable.hpp"
#include "judge_problems.hpp"
#include "ouroboros/error.hpp"
#include "referee/stages.hpp"

using namespace ouroboros;
using ouroboros_test::problem_of;
using ouroboros_test::softmax_problem;

namespace {

Problem fixed(std::int64_t rows, std::int64_t cols) {
  auto problem = softmax_problem();
  problem.axes[0].fixed = rows;
  problem.axes[1].fixed = cols;
  problem.timed = {{{"rows", rows}, {"cols", cols}}};
  return problem;
}

std::vector<judge::CaseSpec> cases_of(const Problem& problem, std::uint64_t seed) {
  return judge::derive_cases(problem, {DType::float32, DType::float16}, seed);
}

/// Without running what is large.
std::vector<judge::CaseSpec> left_of(const Problem& problem, std::uint64_t seed) {
  return judge::affordable(problem, {}, cases_of(problem, seed), seed);
}

std::set<std::string> families_of(const std::vector<judge::CaseSpec>& specs, DType dtype) {
  std::set<std::string> families;
  for (const auto& spec : specs) {
    if (spec.dtype == dtype) families.insert(spec.family);
  }
  return families;
}

}  // namespace

TEST_CASE("cases of ordinary size are all drawn", "[judge]") {
  for (const auto& problem : {softmax_problem(), fixed(1024, 1024)}) {
    CHECK(left_of(problem, 3).size() == cases_of(problem, 3).size());
  }
}

TEST_CASE("of large ones there are as many as there is room for", "[judge]") {
  const auto problem = fixed(4096, 4096);
  const auto left = left_of(problem, 3);
  CHECK(left.size() == 16);  // Sixteen times 2^24.
  const auto huge = left_of(fixed(1 << 15, 1 << 14), 3);
  CHECK(huge.size() == 2 * judge::least_swept);
  for (const auto dtype : {DType::float32, DType::float16}) {
    for (const auto* family : {"normal", "patchwork", "scattered"}) {
      INFO(family);
      CHECK(families_of(left, dtype).contains(family));
      CHECK(families_of(huge, dtype).contains(family));
    }
  }
  CHECK(std::ranges::is_sorted(left, {}, &judge::CaseSpec::id));
}

TEST_CASE("which cases are left out is the seed's to say", "[judge]") {
  std::set<std::set<std::string>> met;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    met.insert(families_of(left_of(fixed(4096, 4096), seed), DType::float32));
  }
  CHECK(met.size() >= 6);
}

TEST_CASE("what no machine has memory for is an error that says so, before anything is drawn",
          "[judge]") {
  try {
    (void)referee::draw_cases(fixed(1 << 20, 1 << 20), {DType::float32}, 3, {});
    FAIL("cases of so many elements were drawn");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::out_of_memory);
    CHECK_THAT(error.what(), Catch::Contains("the shape (cols=1048576, rows=1048576) needs"));
  }
}

TEST_CASE("a verdict says that there are fewer", "[judge]") {
  auto problem = problem_of([](const Tensors& in) { return Tensors{in[0].narrow(0, 0, 2) + 1}; });
  problem.axes[0].fixed = 1 << 12;
  problem.axes[1].fixed = 1 << 13;
  problem.inputs[0].dtype = DType::uint8;
  problem.dtypes = {DType::uint8};
  problem.timed = {{{"rows", 1 << 12}, {"cols", 1 << 13}}};
  const auto pool = referee::draw_cases(problem, problem.dtypes, 3, {});
  REQUIRE(!pool.fault);
  REQUIRE(pool.notes.size() == 1);
  CHECK(pool.notes[0].kind == "few_cases");
  CHECK(pool.notes[0].evidence.starts_with(std::to_string(pool.cases.size()) + " of " +
                                           std::to_string(pool.derived) + " cases"));
}
