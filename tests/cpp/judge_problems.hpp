#pragma once

// Keeps TensorOperators.h from pulling in the header of every operator.
#ifndef AT_PER_OPERATOR_HEADERS
#define AT_PER_OPERATOR_HEADERS
#endif
#include <ATen/TensorOperators.h>
#include <ATen/ops/softmax.h>

#include <string>

#include "ouroboros/problem.hpp"

/// Small problems that the judge's tests bend.
namespace ouroboros_test {

inline ouroboros::Problem problem_of(ouroboros::Reference reference) {
  ouroboros::Problem problem;
  problem.name = "test";
  ouroboros::Axis rows;
  rows.name = "rows";
  rows.minimum = 0;
  ouroboros::Axis cols;
  cols.name = "cols";
  problem.axes = {rows, cols};
  ouroboros::Input x;
  x.name = "x";
  x.shape = {{1, "rows"}, {1, "cols"}};
  problem.inputs = {x};
  problem.reference = std::move(reference);
  return problem;
}

inline ouroboros::Problem softmax_problem() {
  return problem_of(
      [](const ouroboros::Tensors& in) { return ouroboros::Tensors{at::softmax(in[0], -1)}; });
}

}  // namespace ouroboros_test
