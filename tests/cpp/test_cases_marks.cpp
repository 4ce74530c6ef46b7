#include <ATen/TensorOperators.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bucketize.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/hardshrink.h>
#include <ATen/ops/histc.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/index_copy.h>
#include <ATen/ops/index_put.h>
#include <ATen/ops/isin.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/max.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "judge/base/moved.hpp"
#include "judge/base/tensors.hpp"
#include "judge/runs/marks.hpp"
#include "judge/shapes/landmarks.hpp"
#include "judge/values/families.hpp"
#include "judge/values/real_marks.hpp"
#include "judge_problems.hpp"
#include "referee/stages.hpp"

using namespace ouroboros;
using judge::marks_of;

namespace {

using Numbers = std::vector<std::int64_t>;

/// Logits and classes, or real integers, of which `reference` makes something.
Problem of_classes(Reference reference, Values values = Values::index) {
  Problem problem;
  problem.name = "of_classes";
  problem.axes = {{"rows"}, {"classes"}};
  problem.inputs.resize(2);
  problem.inputs[0].name = "logits";
  problem.inputs[0].shape = {{1, "rows"}, {1, "classes"}};
  problem.inputs[1].name = "targets";
  problem.inputs[1].shape = {{1, "rows"}};
  problem.inputs[1].dtype = DType::int64;
  problem.inputs[1].values = values;
  if (values == Values::index) problem.inputs[1].index_axis = "classes";
  problem.timed = {{{"rows", 64}, {"classes", 1000}}};
  problem.reference = std::move(reference);
  return problem;
}

Tensors cross_entropy(const Tensors& in, std::int64_t ignored) {
  constexpr std::int64_t no_reduction = 0;
  return {at::cross_entropy_loss(in[0], in[1], {}, no_reduction, ignored)};
}

using Masks = std::vector<judge::Mask>;

Numbers marks(Reference reference, Values values = Values::index) {
  return marks_of(of_classes(std::move(reference), values), DType::float32).whole;
}

/// Numbers, and others that may say which of them are missing.
Problem of_missing(Reference reference) {
  Problem problem;
  problem.name = "of_missing";
  problem.axes = {{"rows"}, {"cols"}};
  problem.inputs.resize(2);
  problem.inputs[0].name = "x";
  problem.inputs[1].name = "measured";
  for (auto& input : problem.inputs) input.shape = {{1, "rows"}, {1, "cols"}};
  problem.timed = {{{"rows", 64}, {"cols", 100}}};
  problem.reference = std::move(reference);
  return problem;
}

std::vector<judge::RealMark> real_marks(Reference reference) {
  return marks_of(of_missing(std::move(reference)), DType::float32).real;
}

/// Three inputs of as many features, the last of which may be a layer's weights.
Problem of_heads(Reference reference, bool parameter = false) {
  Problem problem;
  problem.name = "of_heads";
  problem.axes = {{"queries", 1, 64}, {"keys", 1, 512}};
  problem.inputs.resize(3);
  problem.inputs[0].name = "q";
  problem.inputs[0].shape = {{1, "queries"}, {32, ""}};
  for (std::size_t i = 1; i < 3; ++i) {
    problem.inputs[i].name = i == 1 ? "k" : "v";
    problem.inputs[i].shape = {{1, "keys"}, {32, ""}};
    problem.inputs[i].parameter = parameter;
  }
  problem.timed = {{{"queries", 16}, {"keys", 64}}};
  problem.reference = std::move(reference);
  return problem;
}

at::Tensor scores_of(const Tensors& in) {
  return at::matmul(in[0], in[1].t()) * 0.17677669529663687;
}

Tensors attention(const Tensors& in) { return {at::matmul(at::softmax(scores_of(in), -1), in[2])}; }

bool has_scores(Reference reference, bool parameter = false) {
  return marks_of(of_heads(std::move(reference), parameter), DType::float32).scores;
}

std::int64_t count_of(const at::Tensor& tensor, std::int64_t value) {
  return tensor.eq(value).sum().item().toLong();
}

}  // namespace

TEST_CASE("a reference's whole numbers are found where integers meet them", "[judge]") {
  CHECK(marks([](const Tensors& in) { return cross_entropy(in, 777); }) == Numbers{777});
  const auto compares = [](const Tensors& in) {
    return Tensors{in[0] * at::where(in[1].ge(50), in[1].ne(7), in[1].lt(40)).unsqueeze(1)};
  };
  CHECK(marks(compares, Values::real) == (Numbers{7, 40, 50}));
  const auto cuts = [](const Tensors& in) {
    return Tensors{in[0] * at::clamp(in[1], -3, 500).unsqueeze(1)};
  };
  CHECK(marks(cuts, Values::real) == (Numbers{-3, 500}));
}

TEST_CASE("multiples of what integers are divided by are marks, and what shifts step at",
          "[judge]") {
  const auto found = [](auto&& made) {
    return marks_of(
               of_classes([made](const Tensors& in) { return Tensors{made(in[1])}; }, Values::real),
               DType::float32)
        .whole;
  };
  const Numbers days = {-172800, -86400, 86400, 172800};
  CHECK(found([](const at::Tensor& x) { return x.remainder(86400); }) == days);
  CHECK(found([](const at::Tensor& x) { return x.floor_divide(86400); }) == days);
  CHECK(found([](const at::Tensor& x) { return x.div(86400, "trunc"); }) == days);
  CHECK(found([](const at::Tensor& x) { return x.div(86400); }).empty());
  CHECK(found([](const at::Tensor& x) { return x.bitwise_right_shift(16); }) ==
        Numbers{-65536, -32768, 32768, 65536});
  CHECK(found([](const at::Tensor& x) { return x.__rshift__(16); }) ==
        Numbers{-65536, -32768, 32768, 65536});
}

TEST_CASE("what real numbers are compared with is no mark", "[judge]") {
  CHECK(marks([](const Tensors& in) {
          return Tensors{at::where(in[0] > 5, in[0], in[0] * in[1].unsqueeze(1))};
        }).empty());
  CHECK(marks_of(ouroboros_test::softmax_problem(), DType::float32).whole.empty());
}

TEST_CASE("real numbers that inputs are tested for are sentinels of theirs", "[judge]") {
  using Found = std::vector<judge::RealMark>;
  const auto found = real_marks([](const Tensors& in) {
    const auto first = in[1].narrow(1, 0, 1).to(at::kFloat).ne(0.5);
    return Tensors{at::where(in[1].eq(-999) & first, in[0], in[0].eq(7))};
  });
  CHECK((found == Found{{0, 7}, {1, -999}, {1, 0.5}}));
  // What is computed is hardly ever equal to anything, and infinities are a family's.
  CHECK(real_marks([](const Tensors& in) {
          return Tensors{at::where(in[0].square().eq(3) & in[1].eq(INFINITY), in[0], in[1])};
        }).empty());
  // But for a size, or a power of two times an input.
  const auto sizes = real_marks(
      [](const Tensors& in) { return Tensors{at::where((in[0].abs() * 2).eq(6), in[0], in[1])}; });
  CHECK((sizes == Found{{0, -3}, {0, 3}}));
}

TEST_CASE("real numbers that inputs are ordered by are thresholds, or limits", "[judge]") {
  using enum judge::RealMark::Role;
  using Found = std::vector<judge::RealMark>;
  const auto found = real_marks([](const Tensors& in) {
    const auto above = in[0].unsqueeze(0).gt(0.5).logical_or(in[1].to(at::kFloat).le(-3));
    return Tensors{at::where(above, in[0], in[0].ge(0)) + at::hardshrink(in[1], 2.0)};
  });
  CHECK((found ==
         Found{{0, 0.5, threshold}, {1, -3, threshold}, {1, -2, threshold}, {1, 2, threshold}}));
  CHECK((real_marks([](const Tensors& in) {
           return Tensors{in[0].clamp(-5e4, 1e5) + at::huber_loss(in[0], in[1], 0, 300.0)};
         }) == Found{{0, -5e4, limit}, {0, 300, limit}, {0, 1e5, limit}, {1, 300, limit}}));
  // What is computed.
  CHECK(real_marks([](const Tensors& in) {
          return Tensors{at::where((in[0] - in[1]).gt(5), in[0].square().clamp_max(1e8), in[1])};
        }).empty());
}

TEST_CASE("numbers that others are sorted by are thresholds, and ends of bins are met", "[judge]") {
  using enum judge::RealMark::Role;
  using Found = std::vector<judge::RealMark>;
  const auto found = real_marks([](const Tensors& in) {
    const auto three = at::tensor({-2.5, 0.0, 50.0}, at::kFloat);
    const auto two = at::tensor({0.5, 7.0}, at::kFloat);
    return Tensors{at::bucketize(in[1], three) + at::searchsorted(two, in[0])};
  });
  CHECK((found ==
         Found{{0, 0.5, threshold}, {0, 7, threshold}, {1, -2.5, threshold}, {1, 50, threshold}}));
  CHECK((real_marks([](const Tensors& in) {
           return Tensors{at::histc(in[0].to(at::kFloat), 10, -1.5, 6.0)};
         }) == Found{{0, -1.5}, {0, 6}}));
  const auto whole = [](const Tensors& in) {
    return Tensors{in[0] * at::bucketize(in[1], at::tensor({10, 20, 700})).unsqueeze(1)};
  };
  CHECK(marks(whole, Values::real) == (Numbers{10, 20, 700}));
}

TEST_CASE("halves that are rounded are met", "[judge]") {
  using Found = std::vector<judge::RealMark>;
  CHECK((real_marks([](const Tensors& in) {
           return Tensors{(in[0] * 4).round() + in[1].round(1)};
         }) == Found{{0, -0.625}, {0, -0.375}, {0, -0.125}, {0, 0.125}, {0, 0.375}, {0, 0.625}}));
  // Whoever computes what is rounded may have another number.
  CHECK(real_marks([](const Tensors& in) { return Tensors{(in[0] / in[1]).round()}; }).empty());
}

TEST_CASE("what is chosen from an input is asked what the input is asked", "[judge]") {
  using enum judge::RealMark::Role;
  using Found = std::vector<judge::RealMark>;
  const auto found = real_marks([](const Tensors& in) {
    const auto before = at::pad(in[1].roll({1}, {-1}), {1, 0}).narrow(1, 1, 1).eq(-999);
    const auto twice = at::cat({in[0], in[0]}, 1).narrow(1, 0, in[0].size(1));
    const auto tallest = in[1].abs().amax({-1}, true).gt(300);
    return Tensors{at::where(before, twice.lt(0.5), tallest)};
  });
  CHECK(
      (found == Found{{0, 0.5, threshold}, {1, -999}, {1, -300, threshold}, {1, 300, threshold}}));
  // Of equal numbers no matter which, and of what is cast the one that was given.
  CHECK((real_marks([](const Tensors& in) {
           return Tensors{at::where(std::get<0>(in[0].max(-1, true)).eq(7), in[0], in[1])};
         }) == Found{{0, 7}}));
  // Places are none, nor is what was added up.
  CHECK(real_marks([](const Tensors& in) {
          const auto place = std::get<1>(in[0].max(-1, true)).to(at::kFloat).gt(3.5);
          return Tensors{at::where(place, in[0], in[1].sum(-1, true).gt(2.5))};
        }).empty());
}

TEST_CASE("constants may be tensors of a reference's own", "[judge]") {
  using enum judge::RealMark::Role;
  using Found = std::vector<judge::RealMark>;
  const auto tensor = [](std::vector<double> numbers) { return at::tensor(numbers); };
  const auto found = real_marks([&](const Tensors& in) {
    const auto missing = in[1].eq(tensor({-999})).logical_or(at::isin(in[1], tensor({7, 0.5})));
    const auto above = in[0].unsqueeze(-1).ge(tensor({2.5, 40})).any(-1);
    return Tensors{at::where(missing, in[0], above) + at::minimum(in[0], tensor({3e4}))};
  });
  CHECK(
      (found ==
       Found{
           {0, 2.5, threshold}, {0, 40, threshold}, {0, 3e4, limit}, {1, -999}, {1, 0.5}, {1, 7}}));
  // A ramp, and what is made of an input.
  CHECK(real_marks([](const Tensors& in) {
          const auto ramp = at::arange(in[0].size(1), at::kDouble);
          return Tensors{at::where(in[0].gt(ramp), in[1], in[1].gt(in[1].mean()))};
        }).empty());
  const auto tokens = [](const Tensors& in) {
    const auto places = at::arange(8);
    const auto causal = places.unsqueeze(0).ge(places.unsqueeze(1)).sum();
    const auto ends = at::isin(in[1], at::tensor({50256, 3})).logical_or(in[1] == at::tensor(11));
    return Tensors{in[0] * ends.unsqueeze(1) * causal};
  };
  CHECK(marks(tokens, Values::real) == (Numbers{3, 11, 50256}));
}

TEST_CASE("whether numbers are some may be asked by comparing them", "[judge]") {
  const auto found = [](Reference reference) {
    return marks_of(of_missing(std::move(reference)), DType::float32);
  };
  const auto nan =
      found([](const Tensors& in) { return Tensors{at::where(in[1].ne(in[1]), in[0], in[1])}; });
  CHECK(nan.nan);
  CHECK_FALSE(nan.inf);
  const auto inf = found(
      [](const Tensors& in) { return Tensors{at::where(in[1].eq(-INFINITY), in[0], in[1])}; });
  CHECK(inf.inf);
  CHECK_FALSE(inf.nan);
  const auto neither =
      found([](const Tensors& in) { return Tensors{at::where(in[1].ne(in[0]), in[0], in[1])}; });
  CHECK_FALSE(neither.nan);
}

TEST_CASE("beside exponentials limits are no larger than these allow for", "[judge]") {
  const auto values = [](double limit, bool scores) {
    std::vector<double> found;
    const auto problem = of_heads([=](const Tensors& in) {
      const auto q = at::clamp(in[0], -limit, limit / 4);
      const auto k = scores ? in[1] : at::ones(in[1].sizes(), in[1].options());
      return Tensors{at::softmax(at::matmul(q, k.t()), -1)};
    });
    for (const auto& mark : marks_of(problem, DType::float32).real) found.push_back(mark.value);
    return found;
  };
  CHECK(values(1e5, false) == std::vector<double>{25000});
  CHECK(values(1e3, true) == std::vector<double>{250});
}

TEST_CASE("numbers about a threshold are those next to it, and beyond large ones", "[judge]") {
  using enum judge::RealMark::Role;
  using Numbers = std::vector<double>;
  const auto at = [](double value, DType dtype, judge::RealMark::Role role = threshold) {
    auto found = judge::numbers_at({0, value, role}, dtype, {});
    std::ranges::sort(found);
    return found;
  };
  CHECK(at(1.5, DType::float32) == (Numbers{1.5 - 0x1p-23, 1.5, 1.5 + 0x1p-23}));
  CHECK(at(-1.5, DType::bfloat16) == (Numbers{-1.5 - 0x1p-7, -1.5, -1.5 + 0x1p-7}));
  // Neither 0.1 nor what it is rounded to.
  const double nearest = 0.1F;
  CHECK(at(0.1, DType::float32) == (Numbers{nearest - 0x1p-27, nearest + 0x1p-27}));
  CHECK(at(0.1, DType::float64) == (Numbers{nearest - 0x1p-27, nearest + 0x1p-27}));
  CHECK(at(1e8, DType::float32) == (Numbers{-2e8, 1e8 - 8, 1e8, 1e8 + 8, 2e8}));
  CHECK(at(1e8, DType::float32, limit) == (Numbers{-2e8, 2e8}));
  CHECK(at(32, DType::float32, limit).empty());
  // Too large, and too small.
  CHECK(at(1e5, DType::float16).empty());
  CHECK(at(1e12, DType::float32).empty());
  CHECK(at(1e-4, DType::float16).empty());
  CHECK(at(1e-10, DType::float32).empty());
}

TEST_CASE("what meets a threshold is in half of the rows, and no larger than what was shrunk",
          "[judge]") {
  using enum judge::RealMark::Role;
  const auto problem = of_missing([](const Tensors& in) { return in; });
  judge::CaseSpec spec{0, DType::float32, {{"rows", 1000}, {"cols", 16}}, "uniform", 5};
  spec.real_marks = {{0, 0.75, threshold}, {0, 1e6, limit}};
  const auto drawn = [&](int shrink) { return judge::draw(problem, spec, shrink)[0]; };
  for (const auto* family : {"uniform", "patchwork"}) {
    spec.family = family;
    INFO(family);
    const auto rows = drawn(0).eq(2e6).any(1).sum().item().toLong();
    CHECK((rows > 150 && rows < 400));
    CHECK(count_of(drawn(0).mul(4), 3) > 100);
    CHECK(drawn(0).abs().lt(1e5).any(1).all().item().toBool());
    CHECK(drawn(8).abs().max().item().toDouble() < 1e5);
  }
  spec.family = "normal";
  CHECK(count_of(drawn(0), 2000000) == 0);
}

TEST_CASE("who asks for NaN or infinities in an input is given some", "[judge]") {
  const auto asked = [](Reference reference) {
    const auto found = marks_of(of_missing(std::move(reference)), DType::float32);
    return std::pair(found.nan, found.inf);
  };
  CHECK(asked([](const Tensors& in) {
          return Tensors{at::where(at::isnan(in[1]), in[0], in[1])};
        }) == std::pair(true, false));
  CHECK(asked([](const Tensors& in) {
          return Tensors{at::where(at::isinf(in[1].to(at::kFloat)), in[0], in[1])};
        }) == std::pair(false, true));
  CHECK(asked([](const Tensors& in) { return Tensors{at::nan_to_num(in[0]) + in[1]}; }) ==
        std::pair(true, true));
  CHECK(asked([](const Tensors& in) {
          const auto next = at::pad(in[1], {0, 1}).narrow(1, 1, in[1].size(1));
          return Tensors{at::where(at::isnan(next), in[0], in[1])};
        }) == std::pair(true, false));
  CHECK(asked([](const Tensors& in) {  // Where the reference puts them itself.
          const auto masked = at::where(in[1].gt(0), in[0], -INFINITY).amax({-1}, true);
          return Tensors{at::where(masked.eq(-INFINITY), at::isinf(masked), in[0])};
        }) == std::pair(false, false));
  CHECK(asked([](const Tensors& in) {  // Of what may be masked throughout.
          return Tensors{at::nan_to_num(at::softmax(in[0], -1)) * in[1]};
        }) == std::pair(false, false));
}

TEST_CASE("inputs that a reference treats as masks are zeros and ones in some cases", "[judge]") {
  const auto masks = [](Reference reference) {
    return marks_of(of_missing(std::move(reference)), DType::float32).masks;
  };
  CHECK((masks([](const Tensors& in) {
           return Tensors{in[0] + at::rsub(in[1].unsqueeze(0), 1).squeeze(0) * -1e9};
         }) == Masks{{1, 1}}));
  CHECK((masks([](const Tensors& in) { return Tensors{in[0] + at::sub(in[1], 1) * 1e9}; }) ==
         Masks{{1, 1}}));
  CHECK((masks([](const Tensors& in) { return Tensors{in[0] + in[1] * -10000.0}; }) ==
         Masks{{1, 1}}));
  // What is computed, or taken from another number.
  CHECK(masks([](const Tensors& in) {
          return Tensors{at::rsub(in[0].sigmoid(), 1) + at::rsub(in[1], 2) * 8};
        }).empty());

  const auto problem = of_missing([](const Tensors& in) { return Tensors{in[0] + in[1]}; });
  judge::CaseSpec spec{0, DType::float32, {{"rows", 64}, {"cols", 100}}, "patchwork", 5};
  spec.masks = {{1, 1}};
  const auto drawn = judge::realise(problem, spec).inputs;
  CHECK_FALSE(judge::is_mask(drawn[0]));
  CHECK(judge::is_mask(drawn[1]));
  CHECK(drawn[1].any(1).all().item().toBool());
  spec.family = "normal";
  CHECK_FALSE(judge::is_mask(judge::realise(problem, spec).inputs[1]));
}

TEST_CASE("a softmax is left something by bools, and other references are not", "[judge]") {
  const auto bools = [](Reference reference) {
    auto problem = of_missing(std::move(reference));
    problem.inputs[1].dtype = DType::boolean;
    return problem;
  };
  const auto softmax = bools([](const Tensors& in) {
    return Tensors{in[0].masked_fill(in[1].logical_not(), -INFINITY).softmax(-1)};
  });
  const auto any = bools([](const Tensors& in) { return Tensors{in[0].sum(-1), in[1].any(-1)}; });
  const auto masks = [](const Problem& problem) { return marks_of(problem, DType::float32).masks; };
  CHECK((masks(softmax) == Masks{{1, 1}}));
  // Down the columns, and where a count of nothing is seen to.
  CHECK((masks(bools([](const Tensors& in) {
           return Tensors{in[0].masked_fill(in[1], -INFINITY).softmax(0)};
         })) == Masks{{1, 0}}));
  CHECK(masks(bools([](const Tensors& in) {
          const auto weights = in[0].masked_fill(in[1], -INFINITY).softmax(1);
          return Tensors{(weights * in[1]).sum(1) / in[1].sum(1).clamp_min(1)};
        })).empty());
  CHECK(masks(any).empty());
  CHECK(masks(bools([](const Tensors& in) {
          const auto left = in[0].masked_fill(in[1].logical_not(), -INFINITY).softmax(-1);
          return Tensors{left.nan_to_num(0.0)};
        })).empty());
  // Ordinary ones have something anyhow, as timed cells are.
  for (const char* family : {"uniform", "equal", "patchwork", "normal"}) {
    judge::CaseSpec spec{0, DType::float32, {{"rows", 64}, {"cols", 3}}, family, 5};
    const auto full = [&] {
      return judge::realise(softmax, spec).inputs[1].any(-1).all().item().toBool();
    };
    INFO(family);
    CHECK(full() == (spec.family == "normal"));
    spec.masks = {{1, 1}};
    CHECK(full());
    spec.along = "rows";
    CHECK(full());
    spec.masks = {{1, 0}};
    CHECK(judge::draw(softmax, spec, 0)[1].any(0).all().item().toBool());
    // One for each row, of which something is left, but not all.
    auto broadcast = softmax;
    broadcast.inputs[1].shape[1] = {};
    const auto column = judge::draw(broadcast, spec, 0)[1];
    CHECK((column.any().item().toBool() && !column.all().item().toBool()));
  }
}

TEST_CASE("what is declared a mask has zeros and ones in every family", "[judge]") {
  const auto dtype = GENERATE(DType::float32, DType::float16, DType::float8_e5m2, DType::int64,
                              DType::int8, DType::boolean);
  auto problem = of_missing([](const Tensors& in) { return in; });
  problem.inputs[1].values = Values::mask;
  problem.inputs[1].dtype = dtype;
  problem.inputs[1].shape.push_back({});  // Of one element, as where a mask is broadcast.
  for (const auto& family : judge::families(problem, DType::float32)) {
    judge::CaseSpec spec{0, DType::float32, {{"rows", 200}, {"cols", 5}}, family, 6};
    const auto drawn = [&] { return judge::draw(problem, spec, 0)[1].to(at::kDouble).squeeze(-1); };
    INFO(to_string(dtype) << ", " << family);
    const auto mask = drawn();
    CHECK(judge::is_mask(mask));
    const auto ones = mask.sum(1);
    const auto alike = mask.eq(mask[0]).all().item().toBool();
    CHECK(alike == (family == "equal"));
    const auto share = mask.mean().item().toDouble();
    const bool nearly = family == "x64" || family == "odd_sign";
    if (nearly) {
      CHECK((family == "x64" ? 1 - share : share) < 0.05);
      CHECK((mask.any().item().toBool() && !mask.all().item().toBool()));
    } else if (!alike) {
      CHECK(ones.eq(0).any().item().toBool() == (family != "normal"));
      // Of several lengths, and padded at either end.
      const auto later = mask.slice(1, 1);
      const auto before = mask.slice(1, 0, -1);
      CHECK(later.lt(before).any(1).logical_not().sum().item().toLong() > 20);
      CHECK(later.gt(before).any(1).logical_not().sum().item().toLong() > 20);
    }
    spec.masks = {{1, 1}};
    CHECK(drawn().any(1).all().item().toBool());
    // A row of one number cannot do without it.
    spec.axes["cols"] = 1;
    CHECK(drawn().all().item().toBool());
  }
}

TEST_CASE("a mask of places may be a triangle", "[judge]") {
  auto problem = of_missing([](const Tensors& in) { return in; });
  problem.inputs[1].values = Values::mask;
  const judge::CaseSpec spec{0, DType::float32, {{"rows", 7}, {"cols", 7}}, "sorted", 6};
  const auto mask = judge::draw(problem, spec, 0)[1];
  CHECK(mask.equal(at::ones({7, 7}).tril()));
}

TEST_CASE("lengths beside a softmax are not zero", "[judge]") {
  auto problem = of_missing([](const Tensors& in) {
    const auto places = at::arange(in[0].size(1), at::kLong);
    return Tensors{in[0].masked_fill(places.ge(in[1].narrow(1, 0, 1)), -INFINITY).softmax(-1)};
  });
  problem.inputs[1].dtype = DType::int32;
  problem.inputs[1].values = Values::length;
  problem.inputs[1].index_axis = "cols";
  CHECK((marks_of(problem, DType::float32).masks == Masks{{1, 1}}));
  for (const char* family : {"normal", "spike", "patchwork", "sorted"}) {
    judge::CaseSpec spec{0, DType::float32, {{"rows", 64}, {"cols", 5}}, family, 6};
    spec.marks = {0, 5};
    const auto range = [&] {
      const auto drawn = judge::draw(problem, spec, 0)[1];
      return std::pair(drawn.min().item().toLong(), drawn.max().item().toLong());
    };
    INFO(family);
    CHECK(range() == std::pair<std::int64_t, std::int64_t>(spec.family == "normal" ? 1 : 0, 5));
    spec.masks = {{1, 1}};
    CHECK(range() == std::pair<std::int64_t, std::int64_t>(1, 5));
  }
}

TEST_CASE("a reference that raises has no marks, and says so elsewhere", "[judge]") {
  CHECK(marks([](const Tensors&) -> Tensors { throw std::runtime_error("no"); }).empty());
}

TEST_CASE("sentinels are drawn where the dtype holds them, and not throughout a row", "[judge]") {
  const auto problem = of_missing([](const Tensors& in) { return in; });
  judge::CaseSpec spec{0, DType::bfloat16, {{"rows", 1000}, {"cols", 2}}, "uniform", 5};
  spec.real_marks = {{1, -999.0},
                     {1, -1000.0}};  // The first of them would be rounded to the other.
  for (const auto* family : {"uniform", "patchwork"}) {
    spec.family = family;
    const auto drawn = judge::draw(problem, spec, 0);
    INFO(family);
    CHECK(count_of(drawn[0], -1000) < 10);
    CHECK(count_of(drawn[1], -1000) > 80);
    CHECK_FALSE(drawn[1].eq(-1000).all(1).any().item().toBool());
  }
  for (const auto* family : {"normal", "spike"}) {
    spec.family = family;
    CHECK(count_of(judge::draw(problem, spec, 0)[1], -1000) == 0);
  }
}

TEST_CASE("weights, columns and numbers alone meet sentinels and go beyond limits", "[judge]") {
  using enum judge::RealMark::Role;
  auto problem = of_missing([](const Tensors& in) { return in; });
  problem.inputs[0].parameter = true;
  problem.inputs[0].shape = {{1, ""}};
  problem.inputs[1].shape = {{1, "rows"}, {1, ""}};
  judge::CaseSpec spec{0, DType::float32, {{"rows", 1000}, {"cols", 1}}, "uniform", 5};
  spec.real_marks = {{0, 6.0, limit}, {0, 0.25, sentinel}, {1, -999.0, sentinel}};
  int beyond = 0;
  int equal = 0;
  constexpr int seeds = 100;
  for (spec.seed = 0; spec.seed < seeds; ++spec.seed) {
    const auto drawn = judge::draw(problem, spec, 0);
    beyond += drawn[0].abs().eq(12).item<bool>();
    equal += drawn[0].eq(0.25).item<bool>();
    CHECK((count_of(drawn[1], -999) > 50 && count_of(drawn[1], -999) < 200));
  }
  CHECK((beyond > seeds / 8 && beyond < seeds / 2));
  CHECK((equal > seeds / 8 && equal < seeds / 2));
}

TEST_CASE("positive numbers and angles meet the marks that they may be", "[judge]") {
  using enum judge::RealMark::Role;
  auto problem = of_missing([](const Tensors& in) { return in; });
  problem.inputs[0].values = Values::positive;
  problem.inputs[1].values = Values::angle;
  judge::CaseSpec spec{0, DType::float32, {{"rows", 100}, {"cols", 64}}, "uniform", 5};
  for (const auto values : {Values::positive, Values::angle}) {
    auto compared = of_missing([](const Tensors& in) { return Tensors{in[0].eq(0.375)}; });
    compared.inputs[0].values = values;
    CHECK(marks_of(compared, DType::float32).real.size() == 1);
  }
  for (const std::size_t input : {0, 1}) {
    spec.real_marks.push_back({input, 11.375, sentinel});
    spec.real_marks.push_back({input, -0.375, threshold});
  }
  const auto drawn = judge::draw(problem, spec, 0);
  CHECK(drawn[0].eq(11.375).sum().item<int>() > 100);
  CHECK(drawn[0].min().item<float>() > 0);
  CHECK(drawn[1].eq(-0.375).sum().item<int>() > 30);
  CHECK(drawn[1].abs().max().item<float>() <= 1);
}

TEST_CASE("masks and lengths say that nothing is there where the reference has an answer",
          "[judge]") {
  const auto problem_of_mean = [](bool guarded) {
    auto problem = of_missing([guarded](const Tensors& in) {
      auto count = in[1].sum();
      if (guarded) count = count.clamp_min(1);
      return Tensors{(in[0] * in[1]).sum() / count};
    });
    problem.inputs[1].values = Values::mask;
    problem.outputs = {"mean"};
    return problem;
  };
  const std::vector<DType> dtypes = {DType::float32, DType::float16};
  const auto is_of_nothing = [](const judge::Case& one) { return one.spec.family == "nothing"; };
  const auto pool = referee::draw_cases(problem_of_mean(true), dtypes, 1, {});
  REQUIRE_FALSE(pool.fault);
  CHECK(std::ranges::count_if(pool.cases, is_of_nothing) == 2);
  for (const auto& one : pool.cases) {
    if (is_of_nothing(one)) CHECK_FALSE(one.inputs[1].any().item<bool>());
  }
  const auto unguarded = referee::draw_cases(problem_of_mean(false), dtypes, 1, {});
  CHECK(std::ranges::none_of(unguarded.cases, is_of_nothing));
  // Where nobody says what is there, there is no such case.
  CHECK_FALSE(marks_of(of_missing([](const Tensors& in) { return Tensors{in[0]}; }), DType::float32)
                  .answers_nothing);
  // What a reference that raises there asks of its inputs is known all the same.
  auto raising = problem_of_mean(true);
  raising.reference = [](const Tensors& in) {
    if (!in[1].any().item<bool>()) throw std::runtime_error("nothing is left");
    return Tensors{in[0].masked_fill(in[0].eq(-999), 0).sum()};
  };
  const auto found = marks_of(raising, DType::float32);
  CHECK_FALSE(found.answers_nothing);
  CHECK(found.real.size() == 1);
  // The padding of indices says it too.
  auto padded = of_missing([](const Tensors& in) {
    const auto real = in[1].ne(-100);
    return Tensors{in[0].mul(real).sum() / real.sum().clamp_min(1)};
  });
  padded.inputs[1].values = Values::index;
  padded.inputs[1].dtype = DType::int64;
  padded.inputs[1].index_axis = "cols";
  padded.inputs[1].padding = -100;
  CHECK(marks_of(padded, DType::float32).answers_nothing);
}

TEST_CASE("a value that stands for missing ones is met in every pool", "[judge]") {
  const auto problem =
      of_missing([](const Tensors& in) { return Tensors{at::where(in[1].eq(-999), 0.0, in[0])}; });
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const auto dtypes = std::vector<DType>{DType::float32};
    const auto pool = referee::with_landmarks(referee::draw_cases(problem, dtypes, seed, {}),
                                              problem, {"x >= 3000"}, dtypes, seed, {});
    // Without one the outputs would not move with `measured`, which is a fault.
    CHECK(pool.fault.value_or("") == "");
    const auto met = std::ranges::count_if(
        pool.cases, [](const judge::Case& one) { return count_of(one.inputs[1], -999) > 8; });
    CHECK(met >= 4);
    const auto& last = pool.cases.back();  // One at the numbers of a candidate's source.
    CHECK(last.spec.id >= pool.derived);
    CHECK(count_of(last.inputs[1], -999) > 0);
  }
}

TEST_CASE("marks are drawn, and what lies beside them, where they are in range", "[judge]") {
  const auto problem = of_classes([](const Tensors& in) { return cross_entropy(in, 777); });
  judge::CaseSpec spec{0, DType::float32, {{"rows", 1000}, {"classes", 1000}}, "sorted", 5};
  const auto drawn = [&] { return judge::draw(problem, spec, 0)[1]; };
  CHECK(count_of(drawn(), 777) < 10);
  spec.marks = {-100, 777, 1000};
  for (const auto* family : {"sorted", "patchwork", "mixed", "large_mean"}) {
    spec.family = family;
    const auto targets = drawn();
    INFO(family);
    CHECK(count_of(targets, 777) > 20);
    CHECK(count_of(targets, 776) > 10);
    CHECK(count_of(targets, 999) > 10);  // Beside 1000, which is no class.
    CHECK(targets.min().item().toLong() >= 0);
    CHECK(targets.max().item().toLong() < 1000);
  }
  // What a GPU draws, and what is all alike, stay as they were.
  for (const auto* family : {"normal", "equal"}) {
    spec.family = family;
    const auto with = drawn();
    auto without = spec;
    without.marks.clear();
    CHECK(at::equal(with, judge::draw(problem, without, 0)[1]));
  }
}

TEST_CASE("integers that are values meet marks within their dtype", "[judge]") {
  auto problem = of_classes([](const Tensors& in) { return in; }, Values::real);
  problem.inputs[1].dtype = DType::int8;
  const judge::CaseSpec spec{0,  DType::float32, {{"rows", 1000}, {"classes", 1}}, "x8", 5,
                             {}, {99, 4000}};
  const auto drawn = judge::draw(problem, spec, 0)[1];
  CHECK(count_of(drawn, 99) > 40);
  CHECK(count_of(drawn, 98) > 20);
}

TEST_CASE("what a source compares with is marked in the cases that are its own", "[judge]") {
  const auto problem = of_classes([](const Tensors& in) { return cross_entropy(in, -100); });
  const auto landmarks = judge::landmarks_of("if (t == 333 || t > 60) x[5] = 1000;", {777});
  const auto cases = judge::landmark_cases(problem, {DType::float32}, 1, landmarks, 0);
  CHECK(!cases.empty());
  for (const auto& spec : cases) {
    auto marks = spec.marks;
    std::ranges::sort(marks);
    CHECK(marks == (Numbers{60, 333, 777}));
  }
}

TEST_CASE("every pool has cases in which a reference's mark counts", "[judge]") {
  const auto problem = of_classes([](const Tensors& in) { return cross_entropy(in, 777); });
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const auto dtypes = std::vector<DType>{DType::float32};
    const auto pool = referee::with_landmarks(referee::draw_cases(problem, dtypes, seed, {}),
                                              problem, {}, dtypes, seed, {});
    INFO(pool.fault.value_or(""));
    CHECK(!pool.fault);
    CHECK(pool.marks.whole == Numbers{777});
    // By chance alone hardly one of 64 targets would be the same class of a thousand.
    std::int64_t marked = 0;
    for (const auto& one : pool.cases) {
      if (one.spec.family == "equal" || one.spec.axes.at("rows") < 64) continue;
      marked += count_of(one.inputs[1], 777);
    }
    CHECK(marked >= 6);
  }
}

TEST_CASE("exponentials of a product of two inputs are scores", "[judge]") {
  CHECK(has_scores(attention));
  CHECK(has_scores([](const Tensors& in) {
    const auto wide = [&](std::size_t i) { return in[i].unsqueeze(0).unsqueeze(0); };
    return Tensors{at::scaled_dot_product_attention(wide(0), wide(1), wide(2))};
  }));
  CHECK(has_scores([](const Tensors& in) {
    auto logits = at::einsum("qd,kd->qk", {in[0], in[1]});
    logits.masked_fill_(logits.lt(0), -INFINITY);
    return Tensors{at::logsumexp(logits.div(8), -1)};
  }));
  // Of one input, of what was not multiplied, and of none.
  CHECK_FALSE(has_scores([](const Tensors& in) { return Tensors{at::softmax(in[0], -1)}; }));
  CHECK_FALSE(has_scores([](const Tensors& in) {
    return Tensors{at::matmul(at::softmax(in[0], -1), in[1].t()), at::exp(in[2])};
  }));
  CHECK_FALSE(has_scores([](const Tensors& in) { return Tensors{scores_of(in), in[2]}; }));
  // A layer's weights are never large.
  CHECK_FALSE(has_scores(attention, true));
}

TEST_CASE("scores are large, and no larger than float32 has hundredths of", "[judge]") {
  const auto problem = of_heads(attention);
  const auto dtypes = std::vector<DType>{DType::float32};
  double most = 0.0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const auto pool = referee::with_landmarks(referee::draw_cases(problem, dtypes, seed, {}),
                                              problem, {"keys > 100"}, dtypes, seed, {});
    INFO(pool.fault.value_or(""));
    CHECK(!pool.fault);
    for (const auto& one : pool.cases) {
      if (one.spec.family == "inf" || one.spec.family == "nan") continue;
      CHECK(one.spec.scores);
      const auto scores = scores_of(judge::raise(one.inputs)).abs_().nan_to_num_(0.0, 0.0);
      const double largest = scores.max().item().toDouble();
      INFO(one.spec.family << " of seed " << seed);
      CHECK(largest < 0x1p17);
      most = std::max(most, largest);
    }
  }
  CHECK(most > 0x1p14);
}

TEST_CASE("numbers that become scores are smaller in families of large ones", "[judge]") {
  const auto problem = of_heads(attention);
  judge::CaseSpec spec{0, DType::float32, {{"queries", 64}, {"keys", 64}}, "", 5};
  const auto largest = [&](const char* family, bool scores) {
    spec.family = family;
    spec.scores = scores;
    return judge::draw(problem, spec, 0)[0].abs().max().item().toDouble();
  };
  for (const auto* family : {"large_mean", "common_mean"}) {
    CHECK(largest(family, false) > 1000);
    CHECK(largest(family, true) < 80);
    CHECK(largest(family, true) > 40);
  }
  CHECK(largest("spike", false) == 0x1p14);
  CHECK(largest("spike", true) == 0x1p8);
  CHECK(largest("bytes", false) == 255);
  CHECK(largest("bytes", true) == 63);
  for (const auto* family : {"x64", "equal", "tiny"}) {
    CHECK(largest(family, true) == largest(family, false));
  }
}

TEST_CASE("no two writers are drawn where the last one is the answer", "[judge]") {
  const auto problem_of_writes = [](Reference reference) {
    auto problem = of_classes(std::move(reference));
    problem.inputs[0].shape = {{1, "classes"}, {4, ""}};
    Input rows = problem.inputs[0];
    rows.name = "rows";
    rows.shape = {{1, "rows"}, {4, ""}};
    problem.inputs.push_back(rows);
    return problem;
  };
  const auto copied = problem_of_writes(
      [](const Tensors& in) { return Tensors{in[0].index_copy(0, in[1], in[2])}; });
  const auto put = problem_of_writes([](const Tensors& in) {
    return Tensors{in[0].clone().index_put_({in[1].to(at::kLong)}, in[2])};
  });
  const auto added = problem_of_writes(
      [](const Tensors& in) { return Tensors{in[0].index_add(0, in[1], in[2])}; });
  CHECK(marks_of(copied, DType::float32).distinct == std::vector<std::size_t>{1});
  CHECK(marks_of(put, DType::float32).distinct == std::vector<std::size_t>{1});
  CHECK(marks_of(added, DType::float32).distinct.empty());
  for (const auto& family : judge::families(copied, DType::float32)) {
    INFO(family);
    for (const std::int64_t rows : {40, 64, 100}) {
      judge::CaseSpec spec{0, DType::float32, {{"rows", rows}, {"classes", 64}}, family, 4};
      spec.distinct = {1};
      const auto index = judge::empty({rows}, at::kLong);
      judge::draw_input(copied, spec, 1, 0, index);
      CHECK((index.min().item<int>() >= 0 && index.max().item<int>() < 64));
      const auto sorted = std::get<0>(index.sort());
      const bool repeats = sorted.slice(0, 1).eq(sorted.slice(0, 0, -1)).any().item<bool>();
      CHECK(repeats == (rows > 64));
    }
  }
}

TEST_CASE("there are no more writers than places, be their number fixed or not", "[judge]") {
  for (const bool fixed : {false, true}) {
    INFO(fixed);
    auto problem =
        of_classes([](const Tensors& in) { return Tensors{in[0].index_copy(0, in[1], in[2])}; });
    problem.inputs[0].shape = {{1, "classes"}, {4, ""}};
    problem.inputs.push_back(problem.inputs[0]);
    problem.inputs[2].name = "rows_of";
    problem.inputs[2].shape[0] = {1, "rows"};
    if (fixed) problem.axes[1].fixed = 40;
    problem.timed = {{{"rows", 30}}};
    if (!fixed) problem.timed[0]["classes"] = 40;
    const auto pool = referee::draw_cases(problem, {DType::float32}, 3, {});
    REQUIRE_FALSE(pool.fault.has_value());
    for (const auto& one : pool.cases) {
      const auto sorted = std::get<0>(one.inputs[1].sort());
      CHECK(sorted.slice(0, 1).ne(sorted.slice(0, 0, -1)).all().item<bool>());
    }
  }
}
