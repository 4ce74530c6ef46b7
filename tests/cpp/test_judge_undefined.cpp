#include <ATen/ops/binary_cross_entropy.h>
#include <ATen/ops/corrcoef.h>
#include <ATen/ops/log.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "catch.hpp"
#include "judge/judge.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;
using ouroboros_test::problem_of;

namespace {

/// The numbers of each row one after the other, from either end.
at::Tensor product_in_turn(const at::Tensor& x, bool from_behind) {
  auto product = at::ones_like(x.select(1, 0));
  const auto count = x.size(1);
  for (std::int64_t i = 0; i < count; ++i) {
    product = product * x.select(1, from_behind ? count - 1 - i : i);
  }
  return product;
}

at::Tensor sum_in_turn(const at::Tensor& x) {
  auto sum = at::zeros_like(x.select(1, 0));
  for (std::int64_t i = 0; i < x.size(1); ++i) sum = sum + x.select(1, i);
  return sum;
}

/// Correlations of rows that are normalised first, all by plain loops.
at::Tensor correlations(const at::Tensor& x) {
  const auto centred = x - (sum_in_turn(x) / x.size(1)).unsqueeze(1);
  const auto rows = centred / sum_in_turn(centred.square()).sqrt().unsqueeze(1);
  auto products = at::zeros({x.size(0), x.size(0)}, x.options());
  for (std::int64_t i = 0; i < x.size(1); ++i) {
    products = products + rows.select(1, i).unsqueeze(1) * rows.select(1, i).unsqueeze(0);
  }
  return products.clamp(-1, 1);
}

at::Tensor in_double(const at::Tensor& x) { return x.to(at::kDouble); }

std::string status_of(const Problem& problem, const judge::Case& one, const at::Tensor& made) {
  return judge::compare(problem, one, {made.contiguous()}).status;
}

}  // namespace

TEST_CASE("a product may leave the range on its way", "[judge]") {
  auto problem = problem_of([](const Tensors& in) { return Tensors{in[0].prod(-1)}; });
  problem.axes[0].minimum = 1;
  problem.axes[1].maximum = 40;
  int left = 0;
  int cases = 0;
  int refused = 0;
  // By the numbers of the last three one does.
  for (const std::uint64_t seed : {61001, 61002, 61003, 61060, 61074, 61099}) {
    for (const auto& spec : judge::derive_cases(problem, {DType::float32}, seed)) {
      if (spec.family != "patchwork") continue;
      const auto one = judge::realise(problem, spec);
      const auto truth = one.oracle[0].to(at::kFloat);
      for (const bool from_behind : {false, true}) {
        const auto made = product_in_turn(one.inputs[0], from_behind);
        INFO(seed << ", " << one.inputs[0].sizes());
        CHECK(status_of(problem, one, made) == "passed");
        left += static_cast<int>((made - truth).isfinite().logical_not().sum().item().toLong());
      }
      ++cases;
      refused += status_of(problem, one, truth * 1.001) == "failed" ? 1 : 0;
    }
  }
  CHECK(left > 0);
  CHECK(refused > cases * 9 / 10);
}

TEST_CASE("a product may leave the range in parts, of which another one is zero", "[judge]") {
  const auto problem = problem_of([](const Tensors& in) { return Tensors{in[0].prod(0)}; });
  int left = 0;
  int refused = 0;
  for (const std::int64_t rows : {24, 256}) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const auto one = judge::realise(
          problem, {0, DType::float32, {{"rows", rows}, {"cols", 15}}, "patchwork", seed});
      const auto truth = one.oracle[0].to(at::kFloat);
      for (const std::int64_t part : {8, 32}) {
        Tensors parts;
        for (const auto& some : one.inputs[0].split(part)) parts.push_back(some.prod(0));
        const auto made = at::stack(parts).prod(0);
        INFO("seed " << seed << ", " << rows << " rows in parts of " << part);
        CHECK(status_of(problem, one, made) == "passed");
        left += static_cast<int>((made - truth).isfinite().logical_not().sum().item().toLong());
      }
      refused += status_of(problem, one, truth * 1.001) == "failed" ? 1 : 0;
    }
  }
  CHECK(left > 0);
  CHECK(refused > 20);
}

TEST_CASE("nobody is asked for what zero divided by zero is where others round", "[judge]") {
  auto problem = problem_of([](const Tensors& in) { return Tensors{at::corrcoef(in[0])}; });
  problem.axes[0].minimum = 2;
  problem.axes[0].maximum = 30;
  problem.axes[1].minimum = 2;
  problem.axes[1].maximum = 300;
  int undefined = 0;
  for (const auto& spec : judge::derive_cases(problem, {DType::float32}, 61001)) {
    const auto one = judge::realise(problem, spec);
    INFO(spec.family << ", " << one.inputs[0].sizes());
    CHECK(status_of(problem, one, correlations(one.inputs[0])) == "passed");
    const auto& truth = one.oracle[0];
    undefined += truth.isnan().any().item().toBool() ? 1 : 0;
    // Of defined ones as much is asked as ever.
    if (!truth.isfinite().any().item().toBool()) continue;
    CHECK(status_of(problem, one, (truth * 0.99).to(at::kFloat)) == "failed");
  }
  CHECK(undefined > 0);
}

TEST_CASE("of rows that are normalised first none has a correlation of one with itself",
          "[judge]") {
  const auto problem = problem_of([](const Tensors& in) { return Tensors{at::corrcoef(in[0])}; });
  for (const auto* family : {"normal", "uniform", "equal", "large_mean"}) {
    for (const std::int64_t cols : {64, 1000, 4096}) {
      const auto one =
          judge::realise(problem, {0, DType::float32, {{"rows", 16}, {"cols", cols}}, family, 3});
      INFO(family << ", " << cols);
      const auto made = correlations(one.inputs[0]);
      CHECK(status_of(problem, one, made) == "passed");
      CHECK(status_of(problem, one, made * (1.0F - 0x1p-9F)) == "failed");
    }
  }
}

TEST_CASE("targets of a cross entropy are probabilities, whatever is tried of them", "[judge]") {
  auto problem = problem_of([](const Tensors& in) {
    return Tensors{at::binary_cross_entropy(at::sigmoid(in[0]), in[1], {}, 0)};
  });
  problem.inputs.push_back(problem.inputs[0]);
  problem.inputs[1].name = "t";
  problem.inputs[1].values = Values::mask;
  problem.axes[1].maximum = 300;
  int refused = 0;
  for (const auto& spec : judge::derive_cases(problem, {DType::float32}, 61001)) {
    const auto one = judge::realise(problem, spec);
    const auto p = at::sigmoid(one.inputs[0]);
    const auto& t = one.inputs[1];
    // Triton has no log1p.
    const auto made = -(t * p.log().clamp_min(-100) + (1 - t) * (1 - p).log().clamp_min(-100));
    INFO(spec.family << ", " << p.sizes());
    CHECK(status_of(problem, one, made) == "passed");
    refused += status_of(problem, one, made * 1.001) == "failed" ? 1 : 0;
  }
  CHECK(refused > 20);
}

TEST_CASE("a reference may ask for what moved numbers are not", "[judge]") {
  auto problem = problem_of([](const Tensors& in) {
    const auto p = at::softmax(in[0], -1);
    if ((p.sum(-1) - 1).abs().gt(1e-12).any().item().toBool() && p.scalar_type() == at::kDouble) {
      throw std::runtime_error("these are no probabilities");
    }
    return Tensors{p};
  });
  problem.axes[1].maximum = 300;
  int refused = 0;
  for (const auto& spec : judge::derive_cases(problem, {DType::float32}, 61001)) {
    const auto one = judge::realise(problem, spec);
    const auto terms = (in_double(one.inputs[0]) - in_double(one.inputs[0]).amax(-1, true)).exp();
    const auto made = (terms / terms.sum(-1, true)).to(at::kFloat);
    INFO(spec.family << ", " << made.sizes());
    CHECK(status_of(problem, one, made) == "passed");
    refused += status_of(problem, one, made * 1.001F) == "failed" ? 1 : 0;
  }
  CHECK(refused > 20);
}

TEST_CASE("a reference may go on until something is near enough", "[judge]") {
  // Sums of numbers that moved, or that a plain loop adds up, never are.
  auto problem = problem_of([](const Tensors& in) {
    auto p = at::softmax(in[0], -1);
    const double near = p.scalar_type() == at::kDouble ? 1e-12 : 2e-6;
    while ((p.sum(-1) - 1).abs().gt(near).any().item().toBool()) p = p / p.sum(-1, true);
    return Tensors{p};
  });
  for (const auto* family : {"normal", "spread", "sorted"}) {
    INFO(family);
    const auto one =
        judge::realise(problem, {0, DType::float32, {{"rows", 8}, {"cols", 3000}}, family, 3});
    CHECK(status_of(problem, one, one.reference[0]) == "passed");
    CHECK(status_of(problem, one, one.reference[0] * 1.001F) == "failed");
  }
}

TEST_CASE("what the dtype does not hold may be infinite", "[judge]") {
  // The reference's square is zero where numbers are subnormal, and its answer one.
  auto problem = problem_of([](const Tensors& in) {
    const auto square = in[0].square();
    return Tensors{at::where(square > 0, 1 / square, at::ones_like(square))};
  });
  const auto one =
      judge::realise(problem, {0, DType::float32, {{"rows", 8}, {"cols", 64}}, "denormal", 3});
  const auto made = (1 / in_double(one.inputs[0]).square()).to(at::kFloat);
  CHECK(made.isinf().any().item().toBool());
  CHECK(status_of(problem, one, made) == "passed");
}

TEST_CASE("what is no number whoever rounds has to be none", "[judge]") {
  const auto problem = problem_of([](const Tensors& in) { return Tensors{at::log(in[0])}; });
  int none = 0;
  for (const auto& spec : judge::derive_cases(problem, {DType::float32}, 61001)) {
    const auto one = judge::realise(problem, spec);
    if (!one.oracle[0].isnan().any().item().toBool()) continue;
    CHECK(status_of(problem, one, one.oracle[0].to(at::kFloat)) == "passed");
    CHECK(status_of(problem, one, one.oracle[0].nan_to_num(0.0).to(at::kFloat)) == "failed");
    ++none;
  }
  CHECK(none > 0);
}
