#include <ATen/ops/arange.h>
#include <ATen/ops/frexp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ldexp.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "judge/base/tensors.hpp"
#include "judge/judge.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;
using ouroboros_test::problem_of;

namespace {

using Arithmetic = std::function<at::Tensor(const Tensors&)>;

/// How many cases refuse a candidate; "" counts all, other keys those whose message has it.
using Refused = std::map<std::string, int>;

constexpr const char* both_ways = "some larger and some smaller";
constexpr const char* by_chance = "rounded by chance or by place";

/// The cases of a problem in one dtype.
class Drawn {
 public:
  Drawn(Problem problem, DType dtype, std::uint64_t seed = 5)
      : problem_(std::move(problem)), dtype_(dtype) {
    problem_.dtypes = {dtype};
    for (const auto& spec : judge::derive_cases(problem_, {dtype}, seed)) {
      cases_.push_back(judge::realise(problem_, spec));
    }
  }

  /// What `made`, given inputs in float32, is judged to be once it is in the case's dtype.
  Refused refused(const Arithmetic& made) const {
    Refused count{{"", 0}, {both_ways, 0}, {by_chance, 0}};
    for (const auto& one : cases_) {
      Tensors inputs;
      for (const auto& input : one.inputs) inputs.push_back(input.to(at::kFloat));
      const auto result =
          judge::compare(problem_, one, {made(inputs).to(scalar_type(dtype_)).contiguous()});
      if (result.status == "passed") continue;
      UNSCOPED_INFO(result.family << ": " << result.message);
      for (auto& [words, cases] : count) {
        cases += result.message.find(words) != std::string::npos ? 1 : 0;
      }
    }
    return count;
  }

 private:
  Problem problem_;
  DType dtype_;
  std::vector<judge::Case> cases_;
};

/// The problem that `arithmetic` in float32 solves, its result rounded once.
Problem rounded_once(const Arithmetic& arithmetic, int inputs = 1) {
  auto problem = problem_of([arithmetic](const Tensors& in) {
    Tensors wide;
    for (const auto& input : in) wide.push_back(input.to(at::kFloat));
    return Tensors{arithmetic(wide).to(in[0].scalar_type())};
  });
  for (int i = 1; i < inputs; ++i) {
    problem.inputs.push_back(problem.inputs.front());
    problem.inputs.back().name += std::to_string(i);
  }
  return problem;
}

at::Tensor places_of(const at::Tensor& like) {
  return at::arange(like.numel(), at::kLong).view(like.sizes());
}

/// Units in the last place of `dtype`, in float64.
at::Tensor units(const at::Tensor& made, DType dtype) {
  const auto wide = made.to(at::kDouble);
  return at::ldexp(at::ones_like(wide), std::get<1>(at::frexp(wide)) - 1)
      .mul_(judge::format_of(dtype).epsilon);
}

/// Up in even places and down in odd ones.
at::Tensor in_turn(const at::Tensor& made, DType dtype) {
  const auto unit = units(made, dtype);
  const auto steps = made.to(at::kDouble) / unit;
  const auto turned = at::where(places_of(made).remainder(2).eq(0), steps.ceil(), steps.floor());
  return at::where(made.eq(0.0), made.to(at::kDouble), turned * unit).to(at::kFloat);
}

/// Up with the distance to the number below as its probability.
at::Tensor by_lot(const at::Tensor& made, DType dtype) {
  const auto unit = units(made, dtype);
  const auto steps = made.to(at::kDouble) / unit;
  const auto place = places_of(made);
  const auto lot = (place * (place + 40503)).remainder(65537).to(at::kDouble).div_(65537.0);
  const auto rounded = steps.floor() + lot.lt(steps - steps.floor()).to(at::kDouble);
  return at::where(made.eq(0.0), made.to(at::kDouble), rounded * unit).to(at::kFloat);
}

at::Tensor softmax(const Tensors& in) { return at::softmax(in[0], -1) * 3.0; }

at::Tensor normalised(const at::Tensor& x) {
  return x * at::rsqrt(x.square().mean({-1}, true) + 1e-6);
}

}  // namespace

TEST_CASE("results are not rounded up and down in turn", "[judge]") {
  for (const auto dtype : {DType::float16, DType::bfloat16, DType::float8_e5m2}) {
    CAPTURE(to_string(dtype));
    const Drawn drawn(rounded_once(softmax), dtype);
    CHECK(drawn.refused(softmax)[""] == 0);
    CHECK(drawn.refused([&](const Tensors& in) { return in_turn(softmax(in), dtype); })[both_ways] >
          3);
  }
}

TEST_CASE("results in 8 bits are not some per cent off before they are rounded", "[judge]") {
  const auto scaled = [](const Tensors& in) { return normalised(in[0]) * 1.7; };
  const auto dtype = DType::float8_e4m3fn;
  const Drawn drawn(rounded_once(scaled), dtype);
  CHECK(drawn.refused(scaled)[""] == 0);
  CHECK(drawn.refused([&](const Tensors& in) {
    const auto made =
        scaled(in).to(at::kBFloat16).to(at::kFloat);  // As honest kernels may have it.
    return made.to(at::kHalf).to(at::kFloat);
  })[""] == 0);
  CHECK(drawn.refused([&](const Tensors& in) {
    const auto made = scaled(in);
    return made * (1.0 + 0.03 * (places_of(made).remainder(2) * 2 - 1));
  })[both_ways] > 3);
  CHECK(drawn.refused([&](const Tensors& in) { return by_lot(scaled(in), dtype); })[both_ways] > 3);
}

TEST_CASE("results of the same numbers are rounded alike", "[judge]") {
  for (const auto dtype : {DType::float16, DType::bfloat16}) {
    CAPTURE(to_string(dtype));
    // Not every pool has enough rows that are alike.
    int met = 0;
    for (std::uint64_t seed = 1; seed < 7; ++seed) {
      const Drawn drawn(rounded_once(softmax), dtype, seed);
      const auto made = [&](const Tensors& in) { return by_lot(softmax(in), dtype); };
      met += drawn.refused(made)[by_chance] > 0 ? 1 : 0;
    }
    CHECK(met > 1);
  }
}

TEST_CASE("results that are rounded twice, each by less than a unit, are honest", "[judge]") {
  for (const auto dtype : {DType::float16, DType::bfloat16}) {
    CAPTURE(to_string(dtype));
    const auto narrow = [dtype](const at::Tensor& made) {
      return made.to(scalar_type(dtype)).to(at::kFloat);
    };
    const auto squares = [](const Tensors& in) { return in[0].square() + in[1].square(); };
    CHECK(Drawn(rounded_once(squares, 2), dtype).refused([&](const Tensors& in) {
      return in[0].square() + narrow(in[1].square());
    })[""] == 0);
    // A weight near one, after a result that was rounded.
    const auto weighted = [](const Tensors& in) { return normalised(in[0]) * 1.03; };
    const auto refused = Drawn(rounded_once(weighted), dtype).refused([&](const Tensors& in) {
      return narrow(normalised(in[0])) * 1.03;
    });
    CHECK(refused.at(both_ways) == 0);
    CHECK(refused.at(by_chance) == 0);
    // A constant in the case's dtype, as Triton has it beside a tensor.
    const double constant = dtype == DType::float16 ? 0.3 : 0.1;
    const auto times = [=](const Tensors& in) { return in[0] * constant; };
    CHECK(Drawn(rounded_once(times), dtype).refused([&](const Tensors& in) {
      return in[0] * narrow(at::full({1}, constant));
    })[""] == 0);
  }
}
