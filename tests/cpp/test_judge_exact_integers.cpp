#include <ATen/ops/argmax.h>
#include <ATen/ops/max.h>
#include <ATen/ops/sort.h>

#include "catch.hpp"
#include "judge/runs/marks.hpp"
#include "judge/values/families.hpp"
#include "judge_pools.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;
using ouroboros_test::refused_by;
using ouroboros_test::seeds;

namespace {

/// Two inputs of integers.
Problem of_integers(DType dtype, Reference reference) {
  auto problem = ouroboros_test::problem_of(std::move(reference));
  problem.axes[0].minimum = 1;
  problem.axes[1].maximum = 300;
  problem.inputs.push_back(problem.inputs[0]);
  problem.inputs[1].name = "y";
  problem.dtypes = {dtype};
  return problem;
}

using Counts = std::vector<std::uint64_t>;

std::vector<std::size_t> exact(DType dtype, Reference reference) {
  auto problem = of_integers(dtype, std::move(reference));
  problem.outputs = {"first", "second"};
  return judge::marks_of(problem, dtype).exact;
}

at::Tensor real(const at::Tensor& integers) {
  return integers.to(integers.scalar_type() == at::kInt ? at::kFloat : at::kDouble);
}

}  // namespace

TEST_CASE("a reference that makes real numbers of integers has none that float32 cannot tell",
          "[judge]") {
  using Inputs = std::vector<std::size_t>;
  const auto dtype = GENERATE(DType::int32, DType::int64);
  CHECK(exact(dtype, [](const Tensors& in) {
          return Tensors{std::get<0>(in[0].sort(-1)), in[1].eq(in[0]).sum(-1)};
        }) == Inputs{0, 1});
  CHECK(exact(dtype, [](const Tensors& in) {
          return Tensors{in[0].to(at::kLong).slice(1, 0, 1).to(at::kFloat), in[1]};
        }).empty());
  CHECK(exact(dtype, [](const Tensors& in) {
          return Tensors{in[0], in[1].bitwise_and(7).div(2)};
        }).empty());
  CHECK(exact(DType::int8, [](const Tensors& in) { return in; }).empty());
}

TEST_CASE("integers are drawn that a float takes for one another, in all inputs at once",
          "[judge]") {
  const auto dtype = GENERATE(DType::int32, DType::int64);
  const auto problem = of_integers(dtype, [](const Tensors& in) { return in; });
  judge::CaseSpec spec{0, dtype, {{"rows", 64}, {"cols", 200}}, "mixed", 5};
  const auto alike = [&] {
    const auto drawn = judge::draw(problem, spec, 0);
    return real(drawn[0]).eq(real(drawn[1])).logical_and(drawn[0].ne(drawn[1]));
  };
  CHECK(alike().sum().item().toLong() < 1000);  // Small ones are often the same.
  spec.exact = {0, 1};
  const auto count = alike().sum().item().toLong();
  const bool wide = dtype == DType::int64;
  CHECK((wide ? count > 700 && count < 1500 : count > 1500 && count < 3000));
  const auto drawn = judge::draw(problem, spec, 0);
  const auto& x = drawn[0];
  for (const auto& ends : {x, -x}) {
    const auto largest = ends.amax(-1, true);
    CHECK(real(ends).eq(real(largest)).sum(-1).gt(1).all().item().toBool());
  }
}

TEST_CASE("who orders wide integers by a float is refused by every seed", "[judge]") {
  const auto dtype = GENERATE(DType::int32, DType::int64);
  INFO(to_string(dtype));
  const auto largest = [](const Tensors& in) {
    const auto [values, places] = at::max(in[0], -1);
    return Tensors{values, places, std::get<0>(in[0].sort(-1)), in[0].eq(in[1]), in[0].lt(in[1])};
  };
  auto problem = of_integers(dtype, largest);
  problem.outputs = {"largest", "place", "sorted", "equal", "less"};
  const auto places = [](const Tensors& in) { return at::argmax(real(in[0]), -1); };
  const auto with = [&](std::size_t i, const std::function<at::Tensor(const Tensors&)>& other) {
    return [=](const Tensors& in) {
      auto out = largest(in);
      out[i] = other(in);
      return out;
    };
  };
  const auto by_real = [](const Tensors& in) {
    return in[0].gather(-1, std::get<1>(real(in[0]).sort(/*stable=*/true, -1, false)));
  };
  const auto taken = [&](const Tensors& in) {
    return in[0].gather(-1, places(in).unsqueeze(-1)).squeeze(-1);
  };
  CHECK(refused_by(
            problem, dtype,
            {largest, with(1, [](const Tensors& in) { return at::argmax(in[0], -1); }),
             with(2, [](const Tensors& in) { return -std::get<0>(in[0].neg().sort(-1, true)); }),
             with(0, taken), with(1, places), with(2, by_real),
             with(3, [](const Tensors& in) { return real(in[0]).eq(real(in[1])); }),
             with(4, [](const Tensors& in) { return real(in[0]).lt(real(in[1])); })}) ==
        (Counts{0, 0, 0, seeds, seeds, seeds, seeds, seeds}));
}

TEST_CASE("who compares one half of integers of 64 bits is refused by every seed", "[judge]") {
  const auto equal = [](const Tensors& in) { return Tensors{in[0].eq(in[1])}; };
  const auto in_part = [](const Tensors& in) {
    return Tensors{in[0].to(at::kInt).eq(in[1].to(at::kInt))};
  };
  const auto above = [](const Tensors& in) {
    return Tensors{in[0].bitwise_right_shift(32).eq(in[1].bitwise_right_shift(32))};
  };
  CHECK(refused_by(of_integers(DType::int64, equal), DType::int64, {equal, in_part, above}) ==
        (Counts{0, seeds, seeds}));
}

TEST_CASE("a mean of wide integers may be taken in float32", "[judge]") {
  const auto mean = [](const Tensors& in) { return Tensors{in[0].to(at::kFloat).mean(-1), in[1]}; };
  auto problem = of_integers(DType::int32, mean);
  problem.outputs = {"mean", "copy"};
  CHECK(refused_by(problem, DType::int32,
                   {mean, [](const Tensors& in) {
                      const auto cols = static_cast<double>(in[0].size(-1));
                      return Tensors{(in[0].to(at::kFloat).flip(-1) / cols).sum(-1), in[1]};
                    }}) == (Counts{0, 0}));
}
