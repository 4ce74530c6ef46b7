// Sigmoids as others make them, of a tanh.

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/glu.h>
#include <ATen/ops/log.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "judge/judge.hpp"
#include "judge_pools.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;

namespace {

using ouroboros_test::Answer;
using ouroboros_test::problem_of;
using ouroboros_test::refused_by;
using ouroboros_test::seeds;

at::Tensor of_tanh(const at::Tensor& x) { return (x * 0.5).tanh().mul_(0.5).add_(0.5); }

/// `make` of a sigmoid that is given.
Answer by(at::Tensor (*make)(const at::Tensor& x, const at::Tensor& sigmoid),
          at::Tensor (*sigmoid)(const at::Tensor& x)) {
  return [=](const Tensors& in) {
    const auto x = in[0].itemsize() < 4 ? in[0].to(at::kFloat) : in[0];
    return Tensors{make(x, sigmoid(x)).to(in[0].scalar_type())};
  };
}

}  // namespace

TEST_CASE("a sigmoid may be made of a tanh", "[judge]") {
  struct One {
    std::string_view name;
    Reference reference;
    at::Tensor (*make)(const at::Tensor& x, const at::Tensor& sigmoid);
  };
  const auto times = [](const at::Tensor& x, const at::Tensor& s) { return x * s; };
  const std::vector<One> all = {
      {"sigmoid", [](const Tensors& in) { return Tensors{at::sigmoid(in[0])}; },
       [](const at::Tensor&, const at::Tensor& s) { return s; }},
      {"silu", [](const Tensors& in) { return Tensors{at::silu(in[0])}; }, times},
      {"x sigmoid(x)", [](const Tensors& in) { return Tensors{in[0] * at::sigmoid(in[0])}; },
       times},
      {"glu", [](const Tensors& in) { return Tensors{at::glu(at::cat({in[0], in[0]}, -1), -1)}; },
       times},
  };
  const auto dtype = GENERATE(DType::float32, DType::bfloat16, DType::float64);
  const auto none_below_minus_14 = [](const at::Tensor& x) {
    return at::where(x.lt(-14), at::zeros_like(x), x.sigmoid());
  };
  const auto of_short_tanh = [](const at::Tensor& x) {
    return (x * 0.5).tanh().to(at::kHalf).to(x.scalar_type()).mul_(0.5).add_(0.5);
  };
  for (const auto& one : all) {
    if (dtype != DType::float32 && one.name != "silu") continue;
    CAPTURE(one.name, to_string(dtype));
    const auto refused = refused_by(
        problem_of(one.reference), dtype,
        {by(one.make, of_tanh), by(one.make, none_below_minus_14), by(one.make, of_short_tanh)});
    CHECK(refused[0] == 0);
    CHECK(refused[1] == seeds);
    CHECK(refused[2] == seeds);
  }
}

TEST_CASE("where it is divided by, or its logarithm is taken, a sigmoid has to be right",
          "[judge]") {
  const auto logarithm =
      problem_of([](const Tensors& in) { return Tensors{(at::sigmoid(in[0]) * 2.0).log()}; });
  const auto reciprocal =
      problem_of([](const Tensors& in) { return Tensors{in[0] / at::sigmoid(in[0])}; });
  const auto plainly = [](const at::Tensor& x) { return x.sigmoid(); };
  // By less than a tanh loses there.
  const auto off_below_minus_18 = [](const at::Tensor& x) {
    return at::where(x.lt(-18), x.sigmoid() * 1.5, x.sigmoid());
  };
  const auto log_of = [](const at::Tensor&, const at::Tensor& s) { return (s * 2.0).log(); };
  const auto divided = [](const at::Tensor& x, const at::Tensor& s) { return x / s; };
  const auto refused = [](const Problem& problem, const Answer& answer) {
    return refused_by(problem, DType::float32, {answer}).front();
  };
  CHECK(refused(logarithm, by(log_of, plainly)) == 0);
  CHECK(refused(logarithm, by(log_of, off_below_minus_18)) == seeds);
  CHECK(refused(reciprocal, by(divided, plainly)) == 0);
  CHECK(refused(reciprocal, by(divided, off_below_minus_18)) == seeds);
}
