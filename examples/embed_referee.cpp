// A C++ program that judges a kernel: no Python in the process.
//
//   embed_referee KERNEL.cpp          judges it against the reference below
//   embed_referee KERNEL.cpp NAME     judges it against a shipped problem, e.g. softmax
//
// Prints the verdict as JSON. Exit code 0 says that the kernel was accepted.

#include <ATen/ops/mul.h>
#include <ATen/ops/relu.h>

#include <cstdio>
#include <string>

#include "ouroboros/ouroboros.hpp"

namespace {

/// relu(x) * scale, row by row: a problem is a reference and what its inputs look like.
ouroboros::Problem scaled_relu() {
  ouroboros::Problem problem;
  problem.name = "scaled_relu";
  problem.axes = {{.name = "rows", .minimum = 0}, {.name = "cols"}};
  problem.inputs = {{.name = "x", .shape = {{.axis = "rows"}, {.axis = "cols"}}},
                    {.name = "scale", .shape = {{.axis = "cols"}}, .parameter = true}};
  problem.timed = {{{"rows", 512}, {"cols", 1024}}};
  problem.reference = [](const ouroboros::Tensors& inputs) {
    return ouroboros::Tensors{at::mul(at::relu(inputs[0]), inputs[1])};
  };
  return problem;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: embed_referee KERNEL.cpp [PROBLEM]\n");
    return 2;
  }
  try {
    const auto problem = count > 2 ? ouroboros::problems::get(arguments[2]) : scaled_relu();
    const ouroboros::Referee referee;
    const auto verdict = referee.judge(problem, ouroboros::Candidate::from_file(arguments[1]));
    std::puts(verdict.to_json(2).c_str());
    return verdict.status == ouroboros::Status::ok ? 0 : 1;
  } catch (const ouroboros::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
