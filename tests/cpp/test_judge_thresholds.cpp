#include <ATen/ops/amax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/fmax.h>
#include <ATen/ops/hardshrink.h>
#include <ATen/ops/hstack.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/threshold.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <functional>
#include <vector>

#include "catch.hpp"
#include "judge/runs/marks.hpp"
#include "judge_pools.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;
using ouroboros_test::Answer;
using ouroboros_test::refused_by;
using ouroboros_test::seeds;

namespace {

Problem short_problem(Reference reference) {
  auto problem = ouroboros_test::problem_of(std::move(reference));
  problem.axes[1].maximum = 300;
  return problem;
}

using Counts = std::vector<std::uint64_t>;

/// `x`, or a half of it, by what is asked of it.
template <typename Above>
Answer halved_below(Above above) {
  return [above](const Tensors& in) { return Tensors{at::where(above(in[0]), in[0], in[0] / 2)}; };
}

Tensors clamped_sum(const Tensors& in) { return {at::cumsum(at::clamp(in[0], -1e5, 1e5), -1)}; }

}  // namespace

TEST_CASE("a number that is the threshold tells > from >=, and its neighbours float32 from less",
          "[judge]") {
  const auto dtype = GENERATE(DType::float32, DType::float16);
  const auto above = halved_below([](const at::Tensor& x) { return x.gt(0.75); });
  const auto refused =
      refused_by(short_problem(above), dtype,
                 {above, halved_below([](const at::Tensor& x) { return (x - 0.75).gt(0); }),
                  halved_below([](const at::Tensor& x) { return x.to(at::kDouble).gt(0.75); }),
                  halved_below([](const at::Tensor& x) { return x.ge(0.75); }),
                  halved_below([](const at::Tensor& x) {
                    return x.to(at::kFloat8_e5m2).to(at::kFloat) > 0.75;
                  })});
  INFO(to_string(dtype));
  CHECK(refused == (Counts{0, 0, 0, seeds, seeds}));
}

TEST_CASE("a threshold that a dtype does not hold may be rounded or not", "[judge]") {
  const auto dtype = GENERATE(DType::float64, DType::bfloat16);
  const auto below = halved_below([](const at::Tensor& x) { return x.lt(0.1); });
  const auto single = static_cast<double>(0.1F);
  const auto refused =
      refused_by(short_problem(below), dtype,
                 {below, halved_below([](const at::Tensor& x) { return x.to(at::kFloat).lt(0.1); }),
                  halved_below([](const at::Tensor& x) { return x.to(at::kDouble).lt(0.1); }),
                  halved_below([=](const at::Tensor& x) { return x.to(at::kDouble).lt(single); })});
  INFO(to_string(dtype));
  CHECK(refused[0] == 0);
  CHECK(refused[2] == 0);
  if (dtype != DType::float64) CHECK(refused[1] == 0);
  CHECK(refused[3] == 0);
}

TEST_CASE("what jumps at a number of its own is asked for it", "[judge]") {
  auto problem = short_problem([](const Tensors& in) {
    return Tensors{at::hardshrink(in[0], 1.5), at::threshold(in[0], 0.25, 8.0)};
  });
  problem.outputs = {"shrunk", "above"};
  const auto by_hand = [](bool shrink_edge, bool threshold_edge) {
    return [=](const Tensors& in) {
      const auto size = in[0].abs();
      return Tensors{
          at::where(shrink_edge ? size.ge(1.5) : size.gt(1.5), in[0], at::zeros_like(in[0])),
          at::where(threshold_edge ? in[0].ge(0.25) : in[0].gt(0.25), in[0], 8.0)};
    };
  };
  CHECK(refused_by(problem, DType::float32,
                   {by_hand(false, false), by_hand(true, false), by_hand(false, true)}) ==
        (Counts{0, seeds, seeds}));
}

TEST_CASE("what is asked of numbers without their sign, or twice as large, is asked of the input's",
          "[judge]") {
  const auto outliers = [](const Tensors& in) {
    return Tensors{at::where(in[0].abs().gt(2.5), in[0], in[0] / 2) +
                   at::where((in[0] * -2).to(at::kFloat).lt(0.75), in[0], in[0] / 2)};
  };
  const auto by_hand = [](bool at_size, bool at_twice) {
    return [=](const Tensors& in) {
      const auto& x = in[0];
      const auto large = x.gt(2.5).logical_or(x.lt(-2.5));
      const auto size = at_size ? large.logical_or(x.eq(-2.5)) : large;
      const auto twice = at_twice ? x.ge(-0.375) : x.gt(-0.375);
      return Tensors{at::where(size, x, x / 2) + at::where(twice, x, x / 2)};
    };
  };
  CHECK(refused_by(short_problem(outliers), DType::float32,
                   {outliers, by_hand(false, false), by_hand(true, false), by_hand(false, true)}) ==
        (Counts{0, 0, seeds, seeds}));
}

TEST_CASE("a constant may be a tensor of the reference's own", "[judge]") {
  const auto counted = [](const Tensors& in) {
    const auto levels = at::tensor({0.75, 300.0}, in[0].options());
    return Tensors{in[0].unsqueeze(-1).ge(levels).sum(-1) * in[0]};
  };
  const auto by_hand = [](bool at_level) {
    return [at_level](const Tensors& in) {
      const auto above = at_level ? in[0].ge(0.75) : in[0].gt(0.75);
      return Tensors{(above.to(at::kInt) + in[0].ge(300.0).to(at::kInt)) * in[0]};
    };
  };
  CHECK(refused_by(short_problem(counted), DType::float32,
                   {counted, by_hand(true), by_hand(false)}) == (Counts{0, 0, seeds}));
  const auto missing = [](const Tensors& in) {
    return Tensors{at::where(in[0].eq(at::tensor(-999.0, in[0].options())), 0.0, in[0])};
  };
  CHECK(refused_by(short_problem(missing), DType::float32, {missing, [](const Tensors& in) {
                                                              return Tensors{in[0].clone()};
                                                            }}) == (Counts{0, seeds}));
}

TEST_CASE("what is chosen from an input is asked for in it, and is no close call", "[judge]") {
  using Choice = std::function<at::Tensor(const at::Tensor&)>;
  const std::vector<Choice> choices = {
      [](const at::Tensor& x) { return at::pad(x, {1, 0}).narrow(1, 0, x.size(1)); },
      [](const at::Tensor& x) { return at::hstack({x, x}).narrow(1, 1, x.size(1)); },
      [](const at::Tensor& x) { return x.roll({1}, {-1}); },
      [](const at::Tensor& x) { return at::fmax(x, x.flip({-1})); },
      [](const at::Tensor& x) { return at::embedding(x, at::arange(x.size(0)).flip({0})); },
      [](const at::Tensor& x) { return x.amax({-1}, true); },
  };
  for (std::size_t i = 0; i < choices.size(); ++i) {
    INFO("choice " << i);
    const auto asked = halved_below([&](const at::Tensor& x) { return choices[i](x).ne(-7.5); });
    const auto limited = halved_below([&](const at::Tensor& x) { return choices[i](x).gt(300); });
    const auto never = halved_below([&](const at::Tensor& x) { return x.eq(x); });
    const auto at_it = halved_below([&](const at::Tensor& x) { return choices[i](x).ge(300); });
    CHECK(refused_by(short_problem(limited), DType::float32, {limited, at_it}) ==
          (Counts{0, seeds}));
    if (i + 1 == choices.size()) continue;  // Others in a row are larger.
    CHECK(refused_by(short_problem(asked), DType::float32, {asked, never}) == (Counts{0, seeds}));
  }
}

TEST_CASE("numbers that were written to are no longer an input's", "[judge]") {
  const auto problem = short_problem([](const Tensors& in) {
    auto size = in[0].abs();
    size.mul_(2.0 / 3.0);
    return Tensors{at::where(size.gt(0.75), in[0], in[0] / 2)};
  });
  CHECK(judge::marks_of(problem, DType::float32).real.empty());
}

TEST_CASE("large limits are passed, whatever is made of what is left", "[judge]") {
  const auto refused = refused_by(
      short_problem(clamped_sum), DType::float32,
      {clamped_sum,
       [](const Tensors& in) {
         const auto limit = at::zeros_like(in[0]) + 1e5;
         return Tensors{at::cumsum(at::minimum(at::maximum(in[0], -limit), limit), -1)};
       },
       [](const Tensors& in) { return Tensors{at::cumsum(in[0], -1)}; },
       [](const Tensors& in) { return Tensors{at::cumsum(in[0].clamp_min(-1e5), -1)}; }});
  CHECK(refused == (Counts{0, 0, seeds, seeds}));
  const auto normed = [](const Tensors& in) {
    return Tensors{at::layer_norm(at::clamp(in[0], -1e8, 1e8), {in[0].size(-1)})};
  };
  const auto by_hand = [](const Tensors& in) {
    const auto x = at::clamp(in[0], -1e8, 1e8);
    const auto centred = x - x.mean(-1, true);
    return Tensors{centred / (centred.square().mean(-1, true) + 1e-5).sqrt()};
  };
  CHECK(refused_by(short_problem(normed), DType::float32, {normed, by_hand}) == (Counts{0, 0}));
}

TEST_CASE("differences are drawn beyond where a loss of them turns", "[judge]") {
  auto problem = short_problem([](const Tensors& in) {
    constexpr std::int64_t no_reduction = 0;
    return Tensors{at::huber_loss(in[0], in[1], no_reduction, 1e5)};
  });
  problem.inputs.push_back(problem.inputs[0]);
  problem.inputs[1].name = "y";
  const auto by_hand = [](const Tensors& in) {
    const auto off = (in[0] - in[1]).abs();
    return Tensors{at::where(off.lt(1e5), 0.5 * off * off, 1e5 * (off - 5e4))};
  };
  const auto squares = [](const Tensors& in) { return Tensors{0.5 * (in[0] - in[1]).square()}; };
  CHECK(refused_by(problem, DType::float32, {by_hand, squares}) == (Counts{0, seeds}));
}
