#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>

#include <cmath>

#include "catch.hpp"
#include "judge/judge.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;

namespace {

/// softmax(q k^T / sqrt 32) v, for each head
Problem attention() {
  auto problem = ouroboros_test::problem_of([](const Tensors& in) {
    const auto scores = at::matmul(in[0], in[1].mT()) / std::sqrt(32.0);
    return Tensors{at::matmul(at::softmax(scores, -1), in[2])};
  });
  problem.axes = {Axis{"heads"}, Axis{"queries"}, Axis{"keys"}};
  const auto input = [](const std::string& name, const std::string& rows) {
    Input made;
    made.name = name;
    made.shape = {{1, "heads"}, {1, rows}, {32, ""}};
    return made;
  };
  problem.inputs = {input("q", "queries"), input("k", "keys"), input("v", "keys")};
  return problem;
}

/// By plain loops, with the queries scaled first.
at::Tensor in_loops(const Tensors& in) {
  const auto q = (in[0] * static_cast<float>(1.0 / std::sqrt(32.0))).contiguous();
  const auto scores = at::matmul(q, in[1].mT()).zero_();
  for (std::int64_t d = 0; d < 32; ++d) {
    scores.add_(q.select(2, d).unsqueeze(2) * in[1].select(2, d).unsqueeze(1));
  }
  return at::matmul(at::softmax(scores, -1), in[2]);
}

}  // namespace

TEST_CASE("another score may win where float32 cannot tell the largest apart", "[judge]") {
  // Scores near 2^24, each off by ones.
  const auto problem = attention();
  for (std::uint64_t seed = 40; seed < 50; ++seed) {
    const judge::CaseSpec spec{
        0, DType::float32, {{"heads", 16}, {"queries", 2}, {"keys", 125}}, "large_mean", seed};
    const auto one = judge::realise(problem, spec);
    const auto made = in_loops(one.inputs);
    INFO("seed " << seed);
    CHECK(judge::compare(problem, one, {made}).status == "passed");
    CHECK(judge::compare(problem, one, {made * 2.0F}).status == "failed");
  }
}
