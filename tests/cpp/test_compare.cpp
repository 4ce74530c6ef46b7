#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <limits>

#include "catch.hpp"
#include "judge/comparison/tally.hpp"
#include "judge/judge.hpp"
#include "judge_problems.hpp"
#include "ouroboros/error.hpp"

using namespace ouroboros;
using ouroboros_test::problem_of;
using ouroboros_test::softmax_problem;

namespace {

judge::Case softmax_case(const std::string& family = "normal", DType dtype = DType::float32) {
  return judge::realise(softmax_problem(), {7, dtype, {{"rows", 3}, {"cols", 2000}}, family, 5});
}

CaseResult compared(const judge::Case& one, const at::Tensor& output) {
  return judge::compare(softmax_problem(), one, {output});
}

}  // namespace

TEST_CASE("the reference's own output passes with its figures", "[compare]") {
  const auto one = softmax_case();
  const auto result = compared(one, one.reference[0]);
  CHECK(result.status == "passed");
  CHECK(result.message.empty());
  CHECK(result.id == 7);
  CHECK(result.dtype == "float32");
  CHECK(result.elements == 6000);
  CHECK(result.wrong_elements == 0);
  CHECK(result.max_abs_error == result.reference_max_abs_error);
  CHECK((result.error_over_allowed > 0.0 && result.error_over_allowed <= 0.5));
}

TEST_CASE("one wrong element is found, placed and measured", "[compare]") {
  const auto one = softmax_case();
  const auto output = one.reference[0].clone();
  output.mutable_data_ptr<float>()[2 * 2000 + 1999] = 0.5F;
  const auto result = compared(one, output);
  CHECK(result.status == "failed");
  CHECK(result.output == "out");
  CHECK(result.wrong_elements == 1);
  CHECK(result.error_over_allowed > 1.0);
  CHECK(result.max_abs_error == Approx(0.5).epsilon(0.01));
  CHECK_THAT(result.message, ContainsSubstring("out[2, 1999] is 0.5, expected") &&
                                 ContainsSubstring("1 of 6000 elements are wrong"));
}

TEST_CASE("an error just above the allowed one fails, just below passes", "[compare]") {
  const auto one = softmax_case("normal", DType::float64);
  const auto expected = one.oracle[0].const_data_ptr<double>()[40];
  const auto allowed = one.allowed[0].const_data_ptr<double>()[40];
  const auto output = one.reference[0].clone();
  output.mutable_data_ptr<double>()[40] = expected + 0.99 * allowed;
  CHECK(compared(one, output).status == "passed");
  output.mutable_data_ptr<double>()[40] = expected + 1.01 * allowed;
  const auto result = compared(one, output);
  CHECK(result.status == "failed");
  CHECK(result.error_over_allowed == Approx(1.01).epsilon(1e-2));
}

TEST_CASE("NaN and infinity must stand exactly where they belong", "[compare]") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto one = softmax_case();
  for (const float wrong : {nan, infinity, -infinity}) {
    const auto output = one.reference[0].clone();
    output.mutable_data_ptr<float>()[3] = wrong;
    const auto result = compared(one, output);
    CHECK(result.status == "failed");
    CHECK(result.wrong_elements == 1);
    CHECK(std::isfinite(result.error_over_allowed));
    CHECK(std::isfinite(result.max_abs_error));
  }
  auto problem = problem_of([](const Tensors& in) { return Tensors{in[0] * 2.0}; });
  for (const auto* family : {"nan", "inf"}) {
    const auto odd =
        judge::realise(problem, {0, DType::float32, {{"rows", 4}, {"cols", 8}}, family, 5});
    CHECK(judge::compare(problem, odd, odd.reference).status == "passed");
    CHECK(judge::compare(problem, odd, {odd.reference[0].nan_to_num(0.0, 0.0, 0.0)}).status ==
          "failed");
    CHECK(judge::compare(problem, odd, {at::full_like(odd.reference[0], nan)}).status == "failed");
    CHECK(judge::compare(problem, odd, {at::full_like(odd.reference[0], infinity)}).status ==
          "failed");
  }
  const auto odd =
      judge::realise(problem, {0, DType::float32, {{"rows", 4}, {"cols", 8}}, "inf", 5});
  const auto flipped = odd.reference[0].clone();
  auto* values = flipped.mutable_data_ptr<float>();
  for (int i = 0; i < 32; ++i) {
    if (std::isinf(values[i])) values[i] = -values[i];
  }
  CHECK(judge::compare(problem, odd, {flipped}).status == "failed");
}

TEST_CASE("integer outputs are compared exactly", "[compare]") {
  const auto problem =
      problem_of([](const Tensors& in) { return Tensors{in[0].argsort(-1, false)}; });
  const auto one =
      judge::realise(problem, {0, DType::float32, {{"rows", 4}, {"cols", 8}}, "normal", 5});
  CHECK(judge::compare(problem, one, one.reference).status == "passed");
  const auto output = one.reference[0].clone();
  output.mutable_data_ptr<std::int64_t>()[9] += 1;
  const auto result = judge::compare(problem, one, {output});
  CHECK(result.status == "failed");
  CHECK_THAT(result.message, ContainsSubstring("out[1, 1]"));
}

TEST_CASE("of two outputs the worse is named", "[compare]") {
  auto problem = problem_of([](const Tensors& in) { return Tensors{in[0] + 1.0, in[0] * 2.0}; });
  problem.outputs = {"sum", "twice"};
  const auto one =
      judge::realise(problem, {0, DType::float32, {{"rows", 4}, {"cols", 8}}, "normal", 5});
  const auto result =
      judge::compare(problem, one, {one.reference[0], at::zeros_like(one.reference[1])});
  CHECK(result.output == "twice");
  CHECK(result.wrong_elements == 32);
  CHECK(result.elements == 64);
}

TEST_CASE("an empty case passes", "[compare]") {
  const auto one = judge::realise(softmax_problem(),
                                  {0, DType::float32, {{"rows", 0}, {"cols", 3}}, "normal", 5});
  const auto result = compared(one, one.reference[0]);
  CHECK(result.status == "passed");
  CHECK(result.elements == 0);
}

TEST_CASE("outputs of another dtype or shape are a misuse", "[compare]") {
  const auto one = softmax_case();
  CHECK_THROWS_AS(compared(one, one.reference[0].to(at::kDouble)), Error);
  CHECK_THROWS_AS(compared(one, one.reference[0].slice(0, 0, 2)), Error);
  CHECK_THROWS_AS(judge::compare(softmax_problem(), one, {}), Error);
}

TEST_CASE("numbers below the normal range may be zero where a GPU's atomics sum them",
          "[compare]") {
  const auto problem = problem_of([](const Tensors& in) -> Tensors { return {in[0].sum(0)}; });
  const judge::CaseSpec spec{0, DType::float32, {{"rows", 65}, {"cols", 9}}, "denormal", 5};
  const auto one = judge::realise(problem, spec);
  const auto zero = at::zeros_like(one.reference[0]);
  CHECK(judge::compare(problem, one, {zero}).status == "failed");
  CHECK(judge::compare(problem, one, {zero}, judge::Arithmetic::gpu).status == "passed");

  const auto infinite = at::full_like(zero, std::numeric_limits<float>::infinity());
  const auto doubles = judge::realise(problem, {0, DType::float64, spec.axes, "denormal", 5});
  const auto wide = at::zeros_like(doubles.reference[0]);
  for (const auto& result : {judge::compare(problem, one, {infinite}, judge::Arithmetic::gpu),
                             judge::compare(problem, doubles, {wide}, judge::Arithmetic::gpu)}) {
    CHECK(result.status == "failed");
  }
}

TEST_CASE("bytes that are no bool are wrong wherever they are counted", "[compare]") {
  const auto truth = at::ones({4}, at::kLong);
  const auto made = at::ones({4}, at::kBool);
  const auto output = at::full({4}, 2, at::kByte).view(at::kBool);
  const auto allowed = at::zeros({4}, at::kDouble);
  CHECK(judge::tally_errors(output, made, truth, allowed).wrong == 4);
  CHECK(judge::tally_by_operators(output, made, truth, allowed).wrong == 4);
  CHECK(judge::tally_by_operators(made, made, truth, allowed).wrong == 0);
  const auto problem =
      ouroboros_test::problem_of([](const Tensors& in) { return Tensors{in[0].eq(in[0])}; });
  const auto one =
      judge::realise(problem, {0, DType::float32, {{"rows", 2}, {"cols", 2}}, "normal", 5});
  const auto result = judge::compare(problem, one, {output.view({2, 2})});
  CHECK_THAT(result.message, ContainsSubstring("is 2, expected 1"));
}
