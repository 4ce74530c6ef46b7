// Which extents a reference takes, learnt by asking it.

#include <ATen/TensorOperators.h>

#include <functional>
#include <stdexcept>

#include "catch.hpp"
#include "judge/shapes/domain.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;
using ouroboros_test::problem_of;

namespace {

/// Takes what `takes` says of rows and columns, and is timed at 64 rows of 48.
Problem taking(const std::function<bool(std::int64_t, std::int64_t)>& takes) {
  auto problem = problem_of([takes](const Tensors& in) -> Tensors {
    if (!takes(in[0].size(0), in[0].size(1))) throw std::invalid_argument("not of this shape");
    return {in[0] * 2};
  });
  problem.timed = {{{"rows", 64}, {"cols", 48}}};
  return problem;
}

std::string learnt(const Problem& problem) {
  const auto axes = judge::narrowed_axes(problem, DType::float32);
  return axes ? judge::describe_narrowed(problem, *axes) : "nothing";
}

}  // namespace

TEST_CASE("multiples and least extents are learnt, for each axis by itself") {
  CHECK(learnt(taking([](auto, auto) { return true; })) == "nothing");
  CHECK(learnt(taking([](auto, auto cols) { return cols % 8 == 0; })) == "cols is a multiple of 8");
  CHECK(learnt(taking([](auto rows, auto) { return rows >= 5; })) == "rows is at least 5");
  CHECK(learnt(taking([](auto rows, auto cols) {
          return rows > 0 && cols % 2 == 0 && cols >= 6;
        })) == "rows is at least 1, cols is a multiple of 2, cols is at least 6");
  CHECK(learnt(taking([](auto, auto cols) { return cols == 48; })) == "cols is 48");
}

TEST_CASE("what is learnt are legal axes of the problem") {
  const auto problem = taking([](auto rows, auto cols) { return rows % 4 == 0 && cols > 20; });
  const auto axes = judge::narrowed_axes(problem, DType::float32);
  REQUIRE(axes);
  CHECK(axes->at(0).multiple_of == 4);
  CHECK(axes->at(0).minimum == 0);  // An empty tensor is taken.
  CHECK(axes->at(1).multiple_of == 1);
  CHECK(axes->at(1).minimum >= 21);
  CHECK(axes->at(1).minimum <= 24);
}

TEST_CASE("a reference is not asked beyond what an axis says that it takes") {
  auto table = taking([](auto, auto cols) { return cols > 1 && cols <= 48; });
  table.axes.at(1).maximum = 48;
  CHECK(learnt(table) == "cols is at least 2");
}

TEST_CASE(
    "nothing is learnt of a reference that raises in its timed cell, or at pairs of extents") {
  CHECK(learnt(taking([](auto, auto) { return false; })) == "nothing");
  auto untimed = taking([](auto, auto cols) { return cols % 8 == 0; });
  untimed.timed.clear();
  CHECK(learnt(untimed) == "nothing");
}
