#include <ATen/ops/cat.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "catch.hpp"
#include "judge/tolerance/crossings.hpp"
#include "judge/values/families.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;
using ouroboros_test::problem_of;

TEST_CASE("a sum that is cut off just below zero may be just above it", "[judge]") {
  constexpr std::int64_t rows = 1000;
  constexpr std::int64_t cols = 250;
  const auto problem =
      problem_of([](const Tensors& in) { return Tensors{at::relu(in[0].sum(-1))}; });
  judge::Case one;
  one.spec = {0, DType::float32, {{"rows", rows}, {"cols", cols}}, "normal", 5};
  one.crossing_terms = cols;
  // What adds up to next to nothing, and in every other row to minus one.
  const auto terms = at::randn({rows, cols - 1});
  auto last = terms.to(at::kDouble).sum({-1}, true).neg();
  last.slice(0, 0, rows, 2).sub_(1.0);
  one.inputs = {at::cat({terms, last.to(at::kFloat)}, -1)};
  const auto sums = one.inputs[0].to(at::kDouble).sum(-1);
  one.oracle = {at::relu(sums)};
  one.allowed = {at::zeros_like(sums)};
  judge::allow_crossings(problem, one);

  // What adding in float32 is off by: the root of so many roundings of partial sums.
  const auto sizes = one.inputs[0].to(at::kDouble).square().sum(-1).sqrt();
  const auto errors = sizes.mul(std::sqrt(static_cast<double>(cols)) * 0x1p-25);
  const auto near = sums.le(0.0).logical_and(sums.gt(-0.5));
  const auto enough = near.logical_and(one.allowed[0].ge(sums + errors));
  const auto count = near.sum().item().toLong();
  CHECK(count > 100);
  CHECK(enough.sum().item().toLong() > count * 98 / 100);
  CHECK(one.allowed[0].max().item().toDouble() < 0.1);
  CHECK(one.allowed[0].masked_select(near.logical_not()).max().item().toDouble() == 0.0);
}

TEST_CASE("what is cut off is told from what is zero", "[judge]") {
  auto problem =
      problem_of([](const Tensors& in) { return Tensors{at::relu(at::matmul(in[0], in[1].t()))}; });
  Axis others;
  others.name = "others";
  problem.axes.push_back(others);
  problem.inputs.push_back(problem.inputs.front());
  problem.inputs.back().name = "y";
  problem.inputs.back().shape = {{1, "others"}, {1, "cols"}};
  // Elements that are allowed more than other zeros.
  std::int64_t crossed = 0;
  std::int64_t crossed_again = 0;
  const auto count = [](const judge::Case& one) {
    const auto zeros = one.allowed[0].masked_select(one.oracle[0].eq(0.0));
    return zeros.gt(zeros.min()).sum().item().toLong();
  };
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto model = judge::realise(
        problem,
        {0, DType::float32, {{"rows", 128}, {"cols", 320}, {"others", 256}}, "normal", seed});
    CHECK(model.crossing_terms == 320);
    crossed += count(model);
    crossed_again += count(judge::realise_again(problem, model, ~seed));
  }
  CHECK(crossed > 0);
  CHECK(crossed_again > 0);

  const auto plain = problem_of([](const Tensors& in) { return Tensors{at::relu(in[0])}; });
  const judge::CaseSpec spec{0, DType::float32, {{"rows", 64}, {"cols", 1000}}, "normal", 5};
  CHECK(judge::realise(plain, spec).crossing_terms == 0);
  // Moved inputs may be none that a reference takes.
  auto strict = problem;
  auto products = spec;
  products.axes = {{"rows", 64}, {"cols", 1000}, {"others", 4}};
  const auto given = judge::draw(strict, products, 0)[0].to(at::kDouble);
  strict.reference = [&](const Tensors& in) {
    const auto off = (in[0].to(at::kDouble) - given).abs().max().item().toDouble();
    if (off > 0x1p-10) throw std::runtime_error("none of mine");
    return problem.reference(in);
  };
  CHECK(judge::realise(strict, products).crossing_terms == 0);
  // A choice by what is given is no sum that is cut off.
  const auto chosen = problem_of([](const Tensors& in) {
    return Tensors{at::where(in[0].gt(0.5), in[0].cumsum(-1), at::zeros_like(in[0]))};
  });
  CHECK(judge::realise(chosen, spec).crossing_terms == 0);
}
