#include <ATen/ops/cat.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linalg_det.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include "catch.hpp"
#include "judge/judge.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;
using ouroboros_test::problem_of;

namespace {

std::string status_of(const Problem& problem, const judge::Case& one, const at::Tensor& made) {
  return judge::compare(problem, one, {made.contiguous()}).status;
}

judge::Case case_of(const Problem& problem, std::int64_t rows, std::int64_t cols, DType dtype) {
  return judge::realise(problem, {0, dtype, {{"rows", rows}, {"cols", cols}}, "normal", 3});
}

}  // namespace

TEST_CASE("few results of many sizes have no room of the largest", "[judge]") {
  // A total and what it is made of, as a loss returns it for a log.
  const auto losses = [](const at::Tensor& x) {
    const auto squares = x.square().mean();
    const auto small = (x.square() * 1e-6F).mean() - x.mean().square() * 1e-7F;
    return at::stack({squares * 1000 + small, squares, small});
  };
  auto problem = problem_of([&](const Tensors& in) { return Tensors{losses(in[0])}; });
  const auto one = case_of(problem, 64, 512, DType::float32);
  const auto made = losses(one.inputs[0]);
  CHECK(status_of(problem, one, made) == "passed");
  auto without = made.clone();
  without[2] = 0.0F;
  CHECK(status_of(problem, one, without) == "failed");
  auto coarse = made.clone();
  coarse[2] *= 1.05F;
  CHECK(status_of(problem, one, coarse) == "failed");
}

TEST_CASE("ill-conditioned results leave no room to others of their size", "[judge]") {
  const auto beside = [](const at::Tensor& gelu, const at::Tensor& x) {
    return at::cat({gelu, at::sin(x * 200)}, -1);
  };
  const auto problem =
      problem_of([&](const Tensors& in) { return Tensors{beside(at::gelu(in[0]), in[0])}; });
  const auto one = case_of(problem, 64, 128, DType::float32);
  const auto& x = one.inputs[0];
  CHECK(status_of(problem, one, beside(at::gelu(x), x)) == "passed");
  CHECK(status_of(problem, one, beside(at::gelu(x, "tanh"), x)) == "failed");
  // What is lost of a phase is honest.
  const auto phases = x.to(at::kDouble) * 200 * (1 + 0x1p-24);
  const auto shifted = at::cat({at::gelu(x), phases.sin().to(at::kFloat)}, -1);
  CHECK(status_of(problem, one, shifted) == "passed");
}

TEST_CASE("what is as good as zero is allowed what others are", "[judge]") {
  const auto minors = [](const at::Tensor& x, std::int64_t row, std::int64_t col) {
    const auto at = [&](std::int64_t i, std::int64_t j) {
      return x.select(-1, 3 * ((row + i) % 3) + (col + j) % 3);
    };
    return at(1, 1) * at(2, 2) - at(1, 2) * at(2, 1);
  };
  const auto determinant = [&](const at::Tensor& x, std::int64_t row) {
    return x.select(-1, 3 * row) * minors(x, row, 0) +
           x.select(-1, 3 * row + 1) * minors(x, row, 1) +
           x.select(-1, 3 * row + 2) * minors(x, row, 2);
  };
  auto problem = problem_of(
      [](const Tensors& in) { return Tensors{at::linalg_det(in[0].reshape({-1, 3, 3}))}; });
  problem.axes[1].fixed = 9;
  for (const auto* family : {"normal", "uniform"}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      const judge::CaseSpec spec{0, DType::float32, {{"rows", 4096}, {"cols", 9}}, family, seed};
      const auto one = judge::realise(problem, spec);
      CHECK(status_of(problem, one, determinant(one.inputs[0], 0)) == "passed");
      CHECK(status_of(problem, one, determinant(one.inputs[0], 1)) == "passed");
      CHECK(status_of(problem, one, determinant(one.inputs[0], 0) * (1 + 1e-3F)) == "failed");
    }
  }
}

TEST_CASE("plain loops are as honest in float64", "[judge]") {
  // The backward pass of a layer norm without weights, of rows with a large mean in common.
  const auto backward = [](const at::Tensor& x, const at::Tensor& g, const auto& mean_of) {
    const auto away = x - mean_of(x);
    const auto scale = (mean_of(away.square()) + 1e-5).rsqrt();
    const auto y = away * scale;
    return (g - mean_of(g) - y * mean_of(g * y)) * scale;
  };
  const auto mean = [](const at::Tensor& x) { return x.mean(-1, true); };
  const auto plain = [](const at::Tensor& x) {
    auto sum = at::zeros_like(x.select(-1, 0));
    for (std::int64_t i = 0; i < x.size(-1); ++i) sum += x.select(-1, i);
    return (sum / static_cast<double>(x.size(-1))).unsqueeze(-1);
  };
  auto problem =
      problem_of([&](const Tensors& in) { return Tensors{backward(in[0], in[1], mean)}; });
  problem.inputs.push_back(problem.inputs.front());
  problem.inputs.back().name = "g";
  problem.dtypes = {DType::float64};
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const judge::CaseSpec spec{
        0, DType::float64, {{"rows", 8}, {"cols", 2048}}, "common_mean", seed};
    const auto one = judge::realise(problem, spec);
    const auto made = backward(one.inputs[0], one.inputs[1], plain);
    CHECK(status_of(problem, one, made) == "passed");
    const auto single = [](const at::Tensor& x) { return x.to(at::kFloat); };
    const auto coarse = backward(single(one.inputs[0]), single(one.inputs[1]), mean);
    CHECK(status_of(problem, one, coarse.to(at::kDouble)) == "failed");
  }
}
