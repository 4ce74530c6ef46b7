// Shapes are bounded by what a reference makes of them, not by its inputs alone.

#include <ATen/TensorOperators.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>

#include <stdexcept>

#include "catch.hpp"
#include "judge/shapes/growth.hpp"
#include "judge_problems.hpp"
#include "referee/stages.hpp"

using namespace ouroboros;
using judge::Growth;
using ouroboros_test::problem_of;

namespace {

double largest(Reference reference, std::int64_t rows, std::int64_t cols) {
  return Growth::of(problem_of(std::move(reference)), DType::float32)
      .largest({{"rows", rows}, {"cols", cols}});
}

Tensors outer(const Tensors& in) { return {in[0].unsqueeze(1) * in[0].unsqueeze(2)}; }

}  // namespace

TEST_CASE("how much a reference makes is known of extents that it was not run at", "[judge]") {
  CHECK(largest([](const Tensors& in) { return Tensors{in[0].softmax(-1)}; }, 300, 5000) ==
        300.0 * 5000.0);
  CHECK(largest(outer, 4, 8192) == 4.0 * 8192.0 * 8192.0);
  // Scores of queries and keys, which nobody returns.
  const auto attention = [](const Tensors& in) {
    const auto x = in[0].unsqueeze(0);
    return Tensors{at::scaled_dot_product_attention(x, x, x).squeeze(0)};
  };
  CHECK(largest(attention, 8192, 16) == 8192.0 * 8192.0);
  CHECK(largest(attention, 16, 8192) == 16.0 * 8192.0);
  // A view of many elements has few.
  CHECK(largest([](const Tensors& in) { return Tensors{in[0] + in[0].expand({9, -1, -1})[4]}; },
                300, 5000) == 300.0 * 5000.0);
}

TEST_CASE("operators of a loop over an axis grow with it as the largest does", "[judge]") {
  const auto by_rows = [](const Tensors& in) {
    std::vector<at::Tensor> made;
    for (std::int64_t row = 0; row < in[0].size(0); ++row) made.push_back(in[0][row] * in[0]);
    return Tensors{at::stack(made)};
  };
  CHECK(largest(by_rows, 1000, 50) == 1000.0 * 1000.0 * 50.0);
}

TEST_CASE("windows and pads change no power", "[judge]") {
  const auto differences = [](const Tensors& in) {
    const auto cols = in[0].size(1);
    return Tensors{in[0].narrow(1, 2, cols - 2) - in[0].narrow(1, 0, cols - 2)};
  };
  const auto found = largest(differences, 100, 8000);
  CHECK(found > 0.85 * 100.0 * 8000.0);
  CHECK(found <= 100.0 * 8000.0);
}

TEST_CASE("nothing is bounded of a reference that cannot be run", "[judge]") {
  const auto raises = [](const Tensors&) -> Tensors { throw std::runtime_error("no"); };
  const auto problem = problem_of(raises);
  const AxisValues axes = {{"rows", 4}, {"cols", 8192}};
  const auto growth = Growth::of(problem, DType::float32);
  CHECK(growth.largest(axes) == 0.0);
  CHECK(growth.within(problem, axes) == axes);
}

TEST_CASE("a reference that wants a multiple is counted where it runs", "[judge]") {
  const auto in_groups = [](const Tensors& in) {
    const auto x = in[0].view({in[0].size(0), 32, -1}).sum(-1);  // Sixteen columns are too few.
    return Tensors{x.unsqueeze(0) * x.unsqueeze(1)};
  };
  CHECK(largest(in_groups, 5000, 64) >= 5000.0 * 5000.0 * 32.0);
}

TEST_CASE("an axis that grows no further is counted where it is shorter", "[judge]") {
  auto problem = problem_of(
      [](const Tensors& in) { return Tensors{in[0].unsqueeze(0) * in[0].unsqueeze(1)}; });
  problem.axes[0].maximum = 6;
  const auto growth = Growth::of(problem, DType::float32);
  CHECK(growth.largest({{"rows", 6}, {"cols", 1000}}) == 6.0 * 6.0 * 1000.0);
  CHECK(growth.largest({{"rows", 3}, {"cols", 1000}}) == 3.0 * 3.0 * 1000.0);
}

TEST_CASE("only axes that results grow with are cut, as far as they have to be", "[judge]") {
  auto problem = problem_of(outer);
  const auto growth = Growth::of(problem, DType::float32);
  const AxisValues cut = {{"rows", 4}, {"cols", 1024}};
  CHECK(growth.within(problem, {{"rows", 4}, {"cols", 8192}}) == cut);
  CHECK(growth.within(problem, cut) == cut);
  problem.reference = [](const Tensors& in) {
    const auto x = in[0].sum(-1);
    return Tensors{x.unsqueeze(0) * x.unsqueeze(1)};
  };
  const AxisValues of_rows = {{"rows", 2000}, {"cols", 8192}};
  CHECK(Growth::of(problem, DType::float32).within(problem, {{"rows", 4000}, {"cols", 8192}}) ==
        of_rows);
}

TEST_CASE("no case of a pool makes more than it may", "[judge]") {
  auto problem = problem_of(outer);
  problem.timed = {{{"rows", 2}, {"cols", 4096}}};
  const auto pool = referee::draw_cases(problem, {DType::float32}, 3, {});
  REQUIRE(!pool.fault);
  REQUIRE(pool.cases.size() > 30);
  for (const auto& one : pool.cases) CHECK(one.oracle[0].numel() <= judge::most_made);
}
