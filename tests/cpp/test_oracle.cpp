#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <set>

#include "catch.hpp"
#include "judge/base/moved.hpp"
#include "judge/base/tensors.hpp"
#include "judge/judge.hpp"
#include "judge/runs/promote.hpp"
#include "judge/values/families.hpp"
#include "judge_problems.hpp"
#include "ouroboros/error.hpp"

using namespace ouroboros;
using ouroboros_test::problem_of;

namespace {

at::Tensor thirds() {
  auto tensor = judge::empty({4, 6}, at::kDouble);
  for (int i = 0; i < 24; ++i) tensor.mutable_data_ptr<double>()[i] = (i - 11) / 3.0;
  return tensor;
}

/// What `reference` makes in float64 when promoted.
at::Tensor promoted_one(const std::function<at::Tensor(const at::Tensor&)>& reference) {
  return judge::promoted([&](const Tensors& in) { return Tensors{reference(in[0])}; },
                         {thirds()})[0];
}

judge::Case realised(Reference reference, const std::string& family = "normal") {
  return judge::realise(problem_of(std::move(reference)),
                        {0, DType::float32, {{"rows", 5}, {"cols", 33}}, family, 3});
}

std::string fault_of(Reference reference) {
  try {
    (void)realised(std::move(reference));
  } catch (const judge::ReferenceFault& fault) {
    return fault.what();
  }
  return "";
}

}  // namespace

TEST_CASE("casts to lower types inside a reference are promoted", "[oracle]") {
  const auto x = thirds();
  const auto doubled = at::Tensor(x * 2.0);
  const auto same = [](const at::Tensor& made, const at::Tensor& expected) {
    return judge::same_bits(made.contiguous(), expected.contiguous());
  };
  CHECK(same(promoted_one([](const at::Tensor& t) { return t.to(at::kFloat) * 2.0; }), doubled));
  CHECK(same(promoted_one([](const at::Tensor& t) { return t.to(at::kHalf) * 2.0; }), doubled));
  CHECK(same(promoted_one([](const at::Tensor& t) { return t.to(at::kBFloat16) * 2.0; }), doubled));
  CHECK(same(promoted_one([](const at::Tensor& t) { return at::softmax(t, 1, at::kFloat); }),
             at::softmax(x, 1)));
  const auto single = at::ones({4, 6}, at::kFloat);
  CHECK(same(promoted_one([&](const at::Tensor& t) { return t.type_as(single) * 2.0; }), doubled));
  CHECK(same(promoted_one([&](const at::Tensor& t) { return t.to(single) * 2.0; }), doubled));
  CHECK(same(promoted_one([&](const at::Tensor& t) {
               auto sum = at::zeros({4, 6}, at::kFloat);
               sum.add_(t).add_(t);
               return sum;
             }),
             doubled));
  CHECK(same(promoted_one([](const at::Tensor& t) { return t.to(at::kFloat).to(at::kHalf); }), x));
}

TEST_CASE("integers and complex detours survive promotion", "[oracle]") {
  const auto indices = promoted_one([](const at::Tensor& t) {
    return at::arange(t.size(1), at::kLong).index_select(0, at::ones({2}, at::kLong));
  });
  CHECK(indices.scalar_type() == at::kLong);
  const auto x = thirds();
  const auto back = promoted_one([](const at::Tensor& t) {
    return at::view_as_real(at::view_as_complex(t.to(at::kFloat).reshape({4, 3, 2}))).flatten(1);
  });
  CHECK(judge::same_bits(back.contiguous(), x));
}

TEST_CASE("promotion ends with the call, and on its own thread", "[oracle]") {
  (void)promoted_one([](const at::Tensor& t) { return t.to(at::kFloat); });
  CHECK(thirds().to(at::kFloat).scalar_type() == at::kFloat);
  CHECK_THROWS(
      promoted_one([](const at::Tensor&) -> at::Tensor { throw std::runtime_error("no"); }));
  CHECK(thirds().to(at::kFloat).scalar_type() == at::kFloat);
}

TEST_CASE("reinterpreting bits needs an explicit oracle", "[oracle]") {
  const auto reinterpreting = [](const Tensors& in) {
    return Tensors{in[0].view(at::kInt).bitwise_and(-65536).view(at::kFloat)};
  };
  CHECK_THAT(fault_of(reinterpreting), ContainsSubstring("explicit oracle"));
  auto problem = problem_of(reinterpreting);
  problem.oracle = [](const Tensors& in) { return Tensors{in[0].clone()}; };
  const auto one =
      judge::realise(problem, {0, DType::float32, {{"rows", 5}, {"cols", 33}}, "normal", 3});
  CHECK(one.oracle[0].scalar_type() == at::kDouble);
}

TEST_CASE("a float32 cast inside the reference does not hide float32 mistakes", "[oracle]") {
  // In float64 the reference itself computes in float32. Its oracle must not.
  const auto problem = problem_of([](const Tensors& in) {
    return Tensors{at::softmax(in[0].to(at::kFloat), -1).to(in[0].scalar_type())};
  });
  const auto one =
      judge::realise(problem, {0, DType::float64, {{"rows", 5}, {"cols", 33}}, "normal", 3});
  CHECK(judge::same_bits(one.oracle[0], at::softmax(one.inputs[0], -1)));
  CHECK_FALSE(judge::same_bits(one.oracle[0], one.reference[0]));
}

TEST_CASE("faults of a reference are named", "[oracle]") {
  CHECK(fault_of([](const Tensors& in) { return Tensors{in[0] + 1}; }).empty());
  CHECK_THAT(fault_of([](const Tensors&) -> Tensors { throw std::runtime_error("out of luck"); }),
             ContainsSubstring("raised: out of luck"));
  CHECK_THAT(fault_of([](const Tensors& in) { return Tensors{in[0] + at::ones({2, 2, 7})}; }),
             ContainsSubstring("raised") && ContainsSubstring("size"));
  CHECK_THAT(fault_of([](const Tensors& in) {
               in[0].add_(1);
               return Tensors{in[0] * 2};
             }),
             ContainsSubstring("writes to its input 'x'"));
  CHECK_THAT(fault_of([](const Tensors& in) { return Tensors{in[0] + at::randn({5, 33})}; }),
             ContainsSubstring("not deterministic"));
  CHECK_THAT(fault_of([](const Tensors& in) { return Tensors{in[0], in[0]}; }),
             ContainsSubstring("2 tensors") && ContainsSubstring("1 outputs"));
  CHECK_THAT(fault_of([](const Tensors&) { return Tensors{at::Tensor()}; }),
             ContainsSubstring("no tensor"));
  CHECK_THAT(fault_of([](const Tensors& in) { return Tensors{in[0].to(at::kShort)}; }),
             ContainsSubstring("unsupported dtype"));
  CHECK_THAT(fault_of([](const Tensors& in) { return Tensors{in[0].to(at::kComplexFloat)}; }),
             ContainsSubstring("unsupported dtype"));
  CHECK_THAT(fault_of([](const Tensors& in) { return Tensors{in[0].to_sparse()}; }),
             ContainsSubstring("sparse"));
  CHECK_THAT(fault_of([](const Tensors& in) { return Tensors{in[0].to(at::kMeta)}; }),
             ContainsSubstring("device"));
}

TEST_CASE("errors of the library pass through a reference", "[oracle]") {
  CHECK_THROWS_AS(
      realised([](const Tensors&) -> Tensors { throw Error(ErrorCode::cancelled, "stop"); }),
      Error);
}

TEST_CASE("a family that overflows the dtype is drawn smaller", "[oracle]") {
  const auto one = realised([](const Tensors& in) { return Tensors{in[0].exp()}; }, "x64");
  for (std::int64_t i = 0; i < one.reference[0].numel(); ++i) {
    REQUIRE(std::isfinite(one.reference[0].const_data_ptr<float>()[i]));
    // And has room: who rounds otherwise must not overflow either.
    REQUIRE(std::isfinite(std::exp(2 * one.inputs[0].const_data_ptr<float>()[i])));
  }
}

TEST_CASE("a family whose true values overflow is drawn smaller, unless they are infinite anyhow",
          "[oracle]") {
  const auto spike = judge::CaseSpec{0, DType::float32, {{"rows", 4}, {"cols", 40}}, "spike", 7};
  const auto softplus =
      problem_of([](const Tensors& in) { return Tensors{in[0].exp().add(1).log()}; });
  const auto one = judge::realise(softplus, spike);
  CHECK(at::isfinite(one.oracle[0]).all().item().toBool());
  CHECK(one.inputs[0].max().item().toFloat() >= 16);

  const auto masked = problem_of([](const Tensors& in) {
    return Tensors{in[0].masked_fill(in[0] < 0, -std::numeric_limits<double>::infinity())};
  });
  const auto same = judge::realise(masked, spike);
  CHECK(same.inputs[0].equal(judge::draw(masked, spike, 0, at::kCPU)[0]));
}

TEST_CASE("a family whose products of matrices overflow the dtype is drawn smaller", "[oracle]") {
  // Minus infinity on the diagonal would make zeros: finite, but not for whoever takes maxima block
  // by block.
  const auto reference = [](const Tensors& in) {
    return Tensors{at::softmax(in[0].matmul(in[0].t()).neg(), -1)};
  };
  auto problem = problem_of(reference);
  problem.dtypes = {DType::float16};
  const auto one =
      judge::realise(problem, {0, DType::float16, {{"rows", 5}, {"cols", 33}}, "x64", 3});
  const auto given = one.inputs[0].to(at::kDouble);
  const double largest = given.matmul(given.t()).abs().max().item<double>();
  CHECK(largest <= 65504.0 / 4);
  CHECK(largest > 65504.0 / 16);
}

TEST_CASE("where the dtype loses a finite result for any size of inputs nothing is asked",
          "[oracle]") {
  // The epsilon is zero in half precision, so that a row of zeros is NaN there and zero in truth.
  auto problem = problem_of(
      [](const Tensors& in) { return Tensors{in[0] / in[0].norm(2, {1}, true).clamp_min(1e-12)}; });
  problem.dtypes = {DType::float16};
  const judge::CaseSpec relu{0, DType::float16, {{"rows", 64}, {"cols", 3}}, "uniform", 3};
  const auto one = judge::realise(problem, relu);
  CHECK(one.inputs[0].equal(judge::draw(problem, relu, 0, at::kCPU)[0]));
  const auto lost = at::isfinite(one.reference[0]).logical_not();
  const auto rows_lost = lost.sum().item<std::int64_t>() / 3;
  CHECK(one.lost == 3 * rows_lost);
  REQUIRE(rows_lost > 0);
  REQUIRE(rows_lost < 32);

  const auto truth = one.oracle[0].to(at::kHalf);
  CHECK(judge::compare(problem, one, {truth}).status == "passed");
  CHECK(judge::compare(problem, one, {one.reference[0]}).status == "passed");
  const auto elsewhere = at::where(lost, truth, truth + 1.0);
  CHECK(judge::compare(problem, one, {elsewhere}).wrong_elements == 3 * (64 - rows_lost));
}

TEST_CASE("outputs that are integers are exact", "[oracle]") {
  const auto one = realised([](const Tensors& in) { return Tensors{in[0].argmax(-1)}; });
  CHECK(one.oracle[0].scalar_type() == at::kLong);
  CHECK(one.allowed[0].sum().item<double>() == 0.0);
}

TEST_CASE("allowed errors follow the reference's error and the conditioning", "[oracle]") {
  const auto ratio = [](const judge::Case& one) {
    return (one.allowed[0] / one.oracle[0].abs()).median().item<double>();
  };
  const auto exact = [](const Tensors& in) { return Tensors{in[0] * 2.0}; };
  CHECK(ratio(realised(exact)) < 0x1p-15);
  // Subtracting and adding 4096 costs twelve bits, for the reference as for anyone.
  const auto cancelling = [](const Tensors& in) { return Tensors{(in[0] + 4096.0) - 4096.0}; };
  CHECK(ratio(realised(cancelling)) > 0x1p-13);
  const auto one = judge::realise(problem_of(exact),
                                  {0, DType::float64, {{"rows", 5}, {"cols", 33}}, "normal", 3});
  CHECK(ratio(one) <= 0x1p-42);
}

TEST_CASE("inputs move by sizes of their own, so that terms that cancel do not move as one",
          "[oracle]") {
  const Tensors ones{at::ones({1000}, at::kFloat)};
  const auto moved = judge::moved(ones, 0x1p-30, judge::Moves::by_place, 7)[0] - 1.0;
  std::set<double> sizes;
  int up = 0;
  for (std::int64_t i = 0; i < moved.numel(); ++i) {
    const auto by = moved[i].item().toDouble() * 0x1p30;
    CHECK((std::fabs(by) >= 0.75 && std::fabs(by) <= 1.25));
    sizes.insert(std::fabs(by));
    up += by > 0;
  }
  CHECK(sizes.size() > 950);
  CHECK((up > 400 && up < 600));
}

TEST_CASE("a reference that rounds on its way is not taken by its luck on one element",
          "[oracle]") {
  // One element in 64 loses in the difference of rounded numbers, more or less by chance.
  const auto problem = problem_of([](const Tensors& in) -> Tensors {
    const auto rounded = in[0] * 33.3 - in[0] * 21.7 - in[0] * 11.5;
    return {at::where(at::arange(64).eq(0), rounded, in[0])};
  });
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto one =
        judge::realise(problem, {0, DType::float16, {{"rows", 1}, {"cols", 64}}, "normal", seed});
    const auto x = one.inputs[0].to(at::kDouble).abs().view(-1)[0].item().toDouble();
    INFO(seed);
    CHECK(one.allowed[0].view(-1)[0].item().toDouble() > 0x1p-8 * x);
  }
}

TEST_CASE("a case drawn again has other inputs, a new oracle and the same rule", "[oracle]") {
  const auto problem = ouroboros_test::softmax_problem();
  const auto one =
      judge::realise(problem, {0, DType::float32, {{"rows", 64}, {"cols", 33}}, "normal", 3});
  const auto again = judge::realise_again(problem, one, 77);
  CHECK_FALSE(judge::same_bits(one.inputs[0], again.inputs[0]));
  const auto honest = at::softmax(again.inputs[0], -1);
  CHECK(judge::compare(problem, again, {honest}).status == "passed");
  CHECK(judge::compare(problem, again, {one.reference[0]}).status == "failed");
  const auto whole = judge::realise(problem, again.spec);
  CHECK(judge::same_bits(whole.oracle[0], again.oracle[0]));
}
