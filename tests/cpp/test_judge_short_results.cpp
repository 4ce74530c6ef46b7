#include <ATen/TensorOperators.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/softmax.h>

#include "catch.hpp"
#include "judge/judge.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;

TEST_CASE("results may not be rounded where much is allowed", "[judge]") {
  // Large phases: what a rounding of the inputs does to a sine is more than half precision loses.
  const auto problem = ouroboros_test::problem_of(
      [](const Tensors& in) { return Tensors{at::sin(in[0] * 1.2345e5F)}; });
  const auto judged = [&](const char* family, const at::ScalarType type) {
    const judge::CaseSpec spec{0, DType::float32, {{"rows", 32}, {"cols", 100}}, family, 5};
    const auto one = judge::realise(problem, spec);
    const auto made = at::sin(one.inputs[0] * 1.2345e5F);
    return judge::compare(problem, one, {made.to(type).to(at::kFloat)});
  };
  CHECK(judged("normal", at::kFloat).status == "passed");
  const auto rounded = judged("normal", at::kHalf);
  CHECK(rounded.status == "failed");
  CHECK_THAT(rounded.message, ContainsSubstring("have 12 bits or fewer"));
}

TEST_CASE("results that are short in the reference too may be so", "[judge]") {
  const auto problem = ouroboros_test::problem_of(
      [](const Tensors& in) { return Tensors{(in[0] * 16.0F).round() / 16.0F}; });
  const judge::CaseSpec spec{0, DType::float32, {{"rows", 32}, {"cols", 100}}, "normal", 5};
  const auto one = judge::realise(problem, spec);
  CHECK(judge::compare(problem, one, problem.reference(one.inputs)).status == "passed");
}

TEST_CASE("results may be exact where the reference is not", "[judge]") {
  const auto problem = ouroboros_test::problem_of([](const Tensors& in) {
    const auto shares = at::softmax(in[0], -1);
    return Tensors{shares.slice(-1, 0, 1) + shares.slice(-1, 1)};
  });
  const judge::CaseSpec spec{0, DType::float32, {{"rows", 4096}, {"cols", 2}}, "normal", 5};
  const auto one = judge::realise(problem, spec);
  REQUIRE(one.reference[0].ne(1.0F).sum().item().toLong() > 256);
  CHECK(judge::compare(problem, one, {at::ones_like(one.reference[0])}).status == "passed");
}
