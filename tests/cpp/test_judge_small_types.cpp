#include <ATen/ops/amax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/kthvalue.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/round.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "judge/judge.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;
using ouroboros_test::problem_of;

// Problems of 8-bit numbers, and whole numbers that real ones decide.
namespace {

using Candidate = std::function<Tensors(const Tensors&)>;

/// The cases of some seeds, which take longer to draw than a candidate to be judged.
class Drawn {
 public:
  explicit Drawn(const Problem& problem) : problem_(problem) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      for (const auto& spec : judge::derive_cases(problem, problem.dtypes, seed)) {
        cases_.push_back(judge::realise(problem, spec));
        const auto& one = cases_.back();
        CAPTURE(spec.family);
        REQUIRE(judge::compare(problem, one, one.reference).status == "passed");
      }
    }
  }

  /// How many of them refuse a candidate.
  int refused(const Candidate& candidate) const {
    int count = 0;
    for (const auto& one : cases_) {
      const auto result = judge::compare(problem_, one, candidate(one.inputs));
      if (result.status == "passed") continue;
      UNSCOPED_INFO(one.spec.family << ": " << result.message);
      ++count;
    }
    return count;
  }

 private:
  Problem problem_;
  std::vector<judge::Case> cases_;
};

int refused(const Problem& problem, const Candidate& candidate) {
  return Drawn(problem).refused(candidate);
}

at::Tensor row_scale(const at::Tensor& x) {
  return at::clamp(x.abs().amax({-1}, true), 1e-30, 1e30) / 127.0;
}

Problem quantise() {
  auto problem = problem_of([](const Tensors& in) {
    const auto scale = row_scale(in[0]);
    return Tensors{at::round(in[0] / scale).to(at::kChar), scale};
  });
  problem.outputs = {"whole", "scale"};
  return problem;
}

}  // namespace

TEST_CASE("a rounding may fall either way where the call is close, and nowhere else", "[judge]") {
  const Drawn drawn(quantise());
  CHECK(drawn.refused([](const Tensors& in) {
    const auto scale = row_scale(in[0]);
    return Tensors{at::round(in[0] * scale.reciprocal()).to(at::kChar), scale};
  }) == 0);
  CHECK(drawn.refused([](const Tensors& in) {
    const auto scale = row_scale(in[0]);
    return Tensors{at::floor(in[0] / scale).to(at::kChar), scale};
  }) > 30);
  CHECK(drawn.refused([](const Tensors& in) {
    const auto scale = row_scale(in[0]);
    const auto coarse = (in[0] / scale).to(at::kHalf).to(at::kFloat);
    return Tensors{at::round(coarse).to(at::kChar), scale};
  }) > 10);
}

TEST_CASE("real results may jump where the call is close, and nowhere else", "[judge]") {
  const auto problem = problem_of([](const Tensors& in) {
    const auto scale = row_scale(in[0]);
    return Tensors{at::round(in[0] / scale).clamp(-127, 127) * scale};
  });
  const auto honest = [](const Tensors& in) {
    const auto scale = 127.0 / at::clamp(in[0].abs().amax({-1}, true), 1e-30, 1e30);
    return Tensors{at::round(in[0] * scale).clamp(-127, 127) / scale};
  };
  const judge::CaseSpec cell{0, DType::float32, {{"rows", 64}, {"cols", 1000}}, "normal", 5};
  const auto model = judge::realise(problem, cell);
  CHECK(model.edges);
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    auto spec = cell;
    spec.seed = seed;
    for (const auto& one :
         {judge::realise(problem, spec), judge::realise_again(problem, model, seed)}) {
      CHECK(judge::compare(problem, one, honest(one.inputs)).status == "passed");
      const auto scale = row_scale(one.inputs[0]);
      const auto step_off = one.reference[0] + scale;
      CHECK(judge::compare(problem, one, {step_off}).wrong_elements > 40'000);
    }
  }
  const Drawn drawn(problem);
  CHECK(drawn.refused(honest) == 0);
  CHECK(drawn.refused([](const Tensors& in) { return in; }) > 10);  // Not rounded at all.
}

TEST_CASE("what a mask of a computed number leaves out may be let in where the call is close",
          "[judge]") {
  const auto masked = [](const at::Tensor& x, const at::Tensor& mean) {
    return Tensors{at::where(x > mean, x, at::zeros({1}, x.options()))};
  };
  const auto problem =
      problem_of([&](const Tensors& in) { return masked(in[0], in[0].mean({-1}, true)); });
  const Drawn drawn(problem);
  CHECK(drawn.refused([&](const Tensors& in) {
    return masked(in[0], in[0].cumsum(-1).slice(-1, -1) * (1.0 / in[0].size(-1)));
  }) == 0);
  CHECK(drawn.refused([&](const Tensors& in) {
    return masked(in[0], at::zeros({1}, in[0].options()));
  }) > 10);
}

TEST_CASE("gates of equal scores may go to any of them", "[judge]") {
  auto problem = problem_of([](const Tensors& in) {
    const auto [gates, places] = in[0].softmax(-1).topk(2);
    return Tensors{at::zeros_like(in[0]).scatter(-1, places, gates)};
  });
  problem.axes[1].minimum = 2;
  const auto sorted = [](bool last_first) {
    return [=](const Tensors& in) {
      const auto scores = in[0].softmax(-1);
      const auto read = last_first ? scores.flip(-1) : scores;
      const auto [gates, places] = read.sort(/*stable=*/true, -1, /*descending=*/true);
      const auto made =
          at::zeros_like(read).scatter(-1, places.slice(-1, 0, 2), gates.slice(-1, 0, 2));
      return Tensors{last_first ? made.flip(-1) : made};
    };
  };
  const Drawn drawn(problem);
  CHECK(drawn.refused(sorted(false)) == 0);
  CHECK(drawn.refused(sorted(true)) == 0);
  CHECK(drawn.refused([](const Tensors& in) {
    const auto scores = in[0].softmax(-1);
    const auto least = scores.amax({-1}, true);
    return Tensors{at::where(scores >= least, scores, at::zeros({1}, scores.options()))};
  }) > 10);
}

TEST_CASE("what wraps may wrap either way where it is close", "[judge]") {
  const auto problem =
      problem_of([](const Tensors& in) { return Tensors{at::remainder(in[0] * 0.7, 1.0)}; });
  const Drawn drawn(problem);
  CHECK(drawn.refused([](const Tensors& in) {
    const auto turns = in[0] / static_cast<float>(1 / 0.7);
    return Tensors{turns - turns.floor()};
  }) == 0);
  CHECK(drawn.refused([](const Tensors& in) { return Tensors{in[0] * 0.7}; }) > 10);
}

TEST_CASE("next to where it wraps a result may be on either side", "[judge]") {
  const auto problem =
      problem_of([](const Tensors& in) { return Tensors{at::remainder(in[0] * 7.3, 1.0)}; });
  std::int64_t crossed = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const auto one = judge::realise(
        problem, {0, DType::float32, {{"rows", 64}, {"cols", 1000}}, "normal", seed});
    const auto turns = one.inputs[0].to(at::kDouble) * 7.3;
    const auto near = (turns - turns.round()).abs() < turns.abs() * 0x1p-21;
    const auto& made = one.reference[0];
    const auto other = at::where(near, made.lt(0.5).to(at::kFloat), made);
    crossed += near.sum().item().toLong();
    CHECK(judge::compare(problem, one, {other}).status == "passed");
  }
  CHECK(crossed > 0);
}

TEST_CASE("fresh inputs have close calls of their own", "[judge]") {
  const auto problem = quantise();
  const auto model =
      judge::realise(problem, {0, DType::float32, {{"rows", 64}, {"cols", 1000}}, "normal", 5});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto one = judge::realise_again(problem, model, seed);
    const auto scale = row_scale(one.inputs[0]);
    const auto whole = at::round(one.inputs[0] * scale.reciprocal()).to(at::kChar);
    CHECK(judge::compare(problem, one, {whole, scale}).status == "passed");
    CHECK(judge::compare(problem, one, {whole + 1, scale}).wrong_elements > 60'000);
  }
}

TEST_CASE("a comparison of real numbers makes masks", "[judge]") {
  const auto problem =
      problem_of([](const Tensors& in) { return Tensors{in[0] > in[0].mean({-1}, true)}; });
  const Drawn drawn(problem);
  CHECK(drawn.refused([](const Tensors& in) {
    const auto mean = in[0].sum({-1}, true) / static_cast<double>(in[0].size(-1));
    return Tensors{in[0] > mean};
  }) == 0);
  CHECK(drawn.refused([](const Tensors& in) { return Tensors{in[0] > 0.0}; }) > 10);
}

TEST_CASE("equal numbers are no close call where the answer is promised", "[judge]") {
  // The place of the largest number, of equal ones the second.
  const auto second = [](const at::Tensor& x) {
    const auto first = x.argmax(-1, true);
    const auto rest = x.scatter(-1, first, -std::numeric_limits<double>::infinity());
    const auto next = rest.argmax(-1, true);
    const auto tied = rest.gather(-1, next).eq(x.gather(-1, first));
    return at::where(tied, next, first).squeeze(-1);
  };
  auto problem = problem_of([](const Tensors& in) { return Tensors{in[0].argmax(-1)}; });
  problem.dtypes = {DType::float32, DType::float16};
  const Drawn places(problem);
  CHECK(places.refused([](const Tensors& in) { return Tensors{in[0].argmax(-1)}; }) == 0);
  CHECK(places.refused([&](const Tensors& in) { return Tensors{second(in[0])}; }) > 30);
  problem.reference = [](const Tensors& in) { return Tensors{in[0].abs().argmax(-1)}; };
  CHECK(refused(problem, [&](const Tensors& in) { return Tensors{second(in[0].abs())}; }) > 30);

  problem = problem_of([](const Tensors& in) { return Tensors{in[0] >= in[1]}; });
  problem.inputs.push_back(problem.inputs.front());
  problem.inputs.back().name = "y";
  const Drawn pairs(problem);
  CHECK(pairs.refused([](const Tensors& in) { return Tensors{in[0] >= in[1]}; }) == 0);
  CHECK(pairs.refused([](const Tensors& in) { return Tensors{in[0] > in[1]}; }) > 3);

  // Sums of equal terms are not equal in every arithmetic; counts are.
  problem = problem_of([](const Tensors& in) { return Tensors{in[0] >= in[0].mean({-1}, true)}; });
  CHECK(refused(problem, [](const Tensors& in) {
          const auto mean = in[0].cumsum(-1).slice(-1, -1) * (1.0 / in[0].size(-1));
          return Tensors{in[0] >= mean.to(at::kFloat)};
        }) == 0);
  problem.reference = [](const Tensors& in) {
    return Tensors{in[0].gt(0.0).to(at::kFloat).sum({-1}).to(at::kLong)};
  };
  CHECK(refused(problem, [](const Tensors& in) {
          return Tensors{(in[0].gt(0.0).sum({-1}) - 1).clamp_min(0)};
        }) > 30);
}

TEST_CASE("equal numbers may come in any order where PyTorch promises none", "[judge]") {
  const auto first_first = [](const Tensors& in) {
    return std::get<1>(at::sort(in[0], /*stable=*/true, -1, /*descending=*/true));
  };
  const auto last_first = [](const Tensors& in) {
    return in[0].size(-1) - 1 -
           std::get<1>(at::sort(in[0].flip(-1), /*stable=*/true, -1, /*descending=*/true));
  };
  const auto two = [](const at::Tensor& places) {
    return Tensors{places.slice(-1, 0, 2).contiguous()};
  };
  auto open = problem_of([](const Tensors& in) {
    return Tensors{std::get<1>(at::topk(in[0], std::min<std::int64_t>(2, in[0].size(-1))))};
  });
  const Drawn open_cases(open);
  CHECK(open_cases.refused([&](const Tensors& in) { return two(first_first(in)); }) == 0);
  CHECK(open_cases.refused([&](const Tensors& in) { return two(last_first(in)); }) == 0);
  CHECK(open_cases.refused([&](const Tensors& in) { return two(first_first({-in[0]})); }) > 30);
  // Infinities are no ties.
  auto infinite = open;
  infinite.policies.inf_meaningful = true;
  const Drawn infinite_cases(infinite);
  CHECK(infinite_cases.refused([&](const Tensors& in) { return two(first_first(in)); }) == 0);
  CHECK(infinite_cases.refused([&](const Tensors& in) {
    return two(first_first({at::where(at::isinf(in[0]), in[0].abs(), in[0])}));
  }) > 0);
  // An unstable sort: among equal ones, every place comes at some rank of theirs.
  const auto shuffled = [&](const Tensors& in) {
    const auto order = (at::arange(in[0].size(-1)) * 7919).remainder(1009).argsort(true, -1, false);
    return order.index_select(0, first_first({in[0].index_select(-1, order)}).view(-1))
        .view(in[0].sizes());
  };
  const auto all =
      problem_of([](const Tensors& in) { return Tensors{std::get<1>(at::sort(in[0], -1, true))}; });
  const Drawn all_cases(all);
  CHECK(all_cases.refused([&](const Tensors& in) { return Tensors{shuffled(in)}; }) == 0);
  CHECK(all_cases.refused([&](const Tensors& in) { return Tensors{last_first(in)}; }) == 0);
  CHECK(open_cases.refused([&](const Tensors& in) { return two(shuffled(in)); }) == 0);
  // No place twice, and no other number's, though it lies between those of equal ones.
  CHECK(all_cases.refused([&](const Tensors& in) {
    const auto places = shuffled(in);
    const auto sorted = in[0].gather(-1, places);
    const auto same = sorted.eq(sorted.roll(1, -1));
    return Tensors{at::where(same, places.roll(1, -1), places)};
  }) > 30);
  const auto middle = problem_of([](const Tensors& in) {
    return Tensors{std::get<1>(at::kthvalue(in[0], (in[0].size(-1) + 1) / 2, -1))};
  });
  const Drawn middle_cases(middle);
  CHECK(middle_cases.refused([&](const Tensors& in) {
    return Tensors{shuffled(in).flip(-1).select(-1, (in[0].size(-1) - 1) / 2).contiguous()};
  }) == 0);
  CHECK(middle_cases.refused([&](const Tensors& in) {
    const auto found = shuffled(in).flip(-1).select(-1, (in[0].size(-1) - 1) / 2);
    return Tensors{(found + 1).remainder(in[0].size(-1)).contiguous()};
  }) > 30);
  // Numbers that are equal only once they were computed.
  open.reference = [](const Tensors& in) {
    const auto count = std::min<std::int64_t>(2, in[0].size(-1));
    return Tensors{std::get<1>(at::topk(at::softmax(in[0], -1), count))};
  };
  CHECK(refused(open, [&](const Tensors& in) {
          return two(first_first({at::softmax(in[0], -1)}));
        }) == 0);
  const auto promised = problem_of([&](const Tensors& in) { return Tensors{first_first(in)}; });
  CHECK(refused(promised, [&](const Tensors& in) { return Tensors{first_first(in)}; }) == 0);
}

TEST_CASE("scores that cancel with a bias are as equal as what was rounded before", "[judge]") {
  // Of a sigmoid near one float32 knows 24 bits, and of what is left without the one few.
  const auto first = [](const at::Tensor& scores) {
    const auto count = std::min<std::int64_t>(4, scores.size(-1));
    return std::get<1>(at::topk(scores, count));
  };
  const auto biased = [](const at::Tensor& x) { return at::sigmoid(x) - 1.0; };
  const auto problem = problem_of([&](const Tensors& in) { return Tensors{first(biased(in[0]))}; });
  const Drawn drawn(problem);
  CHECK(drawn.refused([&](const Tensors& in) { return Tensors{first(biased(in[0]))}; }) == 0);
  CHECK(drawn.refused([&](const Tensors& in) {
    return Tensors{first(at::sigmoid(in[0].to(at::kDouble)) - 1.0)};
  }) == 0);
  // Any of those that float32 takes for equal, and none of the others.
  CHECK(drawn.refused([&](const Tensors& in) {
    const auto scores = biased(in[0]);
    const auto last = in[0].size(-1) - 1;
    return Tensors{last - first(scores.flip(-1))};
  }) == 0);
  CHECK(drawn.refused([&](const Tensors& in) {
    return Tensors{first(at::sigmoid(in[0].to(at::kHalf).to(at::kFloat)) - 1.0)};
  }) > 10);
}

TEST_CASE("the largest of computed numbers is one of those that float32 takes for it", "[judge]") {
  const auto plain = [](const at::Tensor& x) {
    const auto e = at::exp(x - x.amax({-1}, true));
    return e / e.sum(-1, true);
  };
  auto problem =
      problem_of([](const Tensors& in) { return Tensors{at::softmax(in[0], -1).argmax(-1)}; });
  const Drawn drawn(problem);
  CHECK(drawn.refused([&](const Tensors& in) { return Tensors{plain(in[0]).argmax(-1)}; }) == 0);
  CHECK(drawn.refused([&](const Tensors& in) {
    return Tensors{at::softmax(in[0].to(at::kDouble), -1).argmax(-1)};
  }) == 0);
  // Of numbers that are the same to the bit the first is the answer.
  CHECK(drawn.refused([&](const Tensors& in) {
    const auto last = in[0].size(-1) - 1;
    return Tensors{last - plain(in[0].flip(-1)).argmax(-1)};
  }) > 10);
  CHECK(drawn.refused(
            [&](const Tensors& in) { return Tensors{in[0].to(at::kBFloat16).argmax(-1)}; }) > 10);
  // Also where the reference writes over it.
  const auto written = problem_of([](const Tensors& in) {
    const auto p = at::softmax(in[0], -1);
    const auto places = p.argmax(-1);
    p.scatter_(-1, places.unsqueeze(-1), 0.0);
    return Tensors{places};
  });
  CHECK(refused(written, [&](const Tensors& in) {
          const auto last = in[0].size(-1) - 1;
          return Tensors{last - plain(in[0].flip(-1)).argmax(-1)};
        }) > 10);
  problem = problem_of([](const Tensors& in) {
    return Tensors{std::get<1>(at::sigmoid(in[0].to(at::kFloat)).max(-1))};
  });
  problem.dtypes = {DType::bfloat16};
  CHECK(refused(problem, [&](const Tensors& in) {
          return Tensors{(1.0 / (1.0 + at::exp(-in[0].to(at::kFloat)))).argmax(-1)};
        }) == 0);
  // Columns of places, each an output of its own.
  problem = problem_of([](const Tensors& in) {
    const auto count = std::min<std::int64_t>(2, in[0].size(-1));
    const auto places = std::get<1>(at::topk(at::sigmoid(in[0]), count));
    return Tensors{places.select(-1, 0).contiguous(), places.select(-1, count - 1).contiguous()};
  });
  problem.outputs = {"first", "second"};
  CHECK(refused(problem, [&](const Tensors& in) {
          const auto scores = 1.0 / (1.0 + at::exp(-in[0]));
          const auto places = std::get<1>(at::sort(scores, /*stable=*/true, -1, true));
          const auto count = std::min<std::int64_t>(2, in[0].size(-1));
          return Tensors{places.select(-1, 0).contiguous(),
                         places.select(-1, count - 1).contiguous()};
        }) == 0);
}

TEST_CASE("equal keys may come in any order, however many there are", "[judge]") {
  auto problem = problem_of(
      [](const Tensors& in) { return Tensors{in[1].index_select(0, at::argsort(in[0]))}; });
  problem.axes = {Axis{"n"}};
  problem.inputs.push_back(problem.inputs.front());
  problem.inputs[0].shape = {{1, "n"}};
  problem.inputs[1].shape = {{1, "n"}};
  problem.inputs[1].name = "data";
  problem.dtypes = {DType::float16};  // Few bits, many ties.
  const auto sorted = [](const Tensors& in, bool last_first) {
    const auto keys = last_first ? in[0].flip(0) : in[0];
    auto order = std::get<1>(at::sort(keys, /*stable=*/true, 0, /*descending=*/false));
    if (last_first) order = in[0].size(0) - 1 - order;
    return Tensors{in[1].index_select(0, order)};
  };
  const Drawn drawn(problem);
  CHECK(drawn.refused([&](const Tensors& in) { return sorted(in, false); }) == 0);
  CHECK(drawn.refused([&](const Tensors& in) { return sorted(in, true); }) == 0);
}

TEST_CASE("integers of integers have no room", "[judge]") {
  auto problem = problem_of([](const Tensors& in) { return Tensors{in[0] * 3 + 1}; });
  for (const auto dtype : {DType::int8, DType::uint8, DType::int32, DType::int64}) {
    problem.dtypes = {dtype};
    const Drawn drawn(problem);
    CHECK(drawn.refused([](const Tensors& in) { return Tensors{in[0] * 3 + 1}; }) == 0);
    CHECK(drawn.refused([](const Tensors& in) { return Tensors{in[0] * 3}; }) > 30);
  }
}

TEST_CASE("integers that are averaged as real numbers may be added in any order", "[judge]") {
  auto problem =
      problem_of([](const Tensors& in) { return Tensors{in[0].to(at::kFloat).mean(-1)}; });
  problem.dtypes = {DType::int32, DType::int8};
  const auto plain = [](const Tensors& in, std::int64_t last) {
    const auto x = in[0].to(at::kFloat);
    auto sum = at::zeros({x.size(0)}, at::kFloat);
    for (std::int64_t i = 0; i < x.size(1) - last; ++i) sum += x.select(1, i);
    return Tensors{sum / static_cast<double>(x.size(1))};
  };
  const Drawn drawn(problem);
  CHECK(drawn.refused([&](const Tensors& in) { return plain(in, 0); }) == 0);
  CHECK(drawn.refused([&](const Tensors& in) { return plain(in, 1); }) > 60);
}

TEST_CASE("8-bit floats are judged by their own steps", "[judge]") {
  for (const auto type : {at::kFloat8_e4m3fn, at::kFloat8_e5m2}) {
    auto problem = problem_of(
        [type](const Tensors& in) { return Tensors{(in[0].to(at::kFloat) * 1.5).to(type)}; });
    problem.dtypes = {type == at::kFloat8_e5m2 ? DType::float8_e5m2 : DType::float8_e4m3fn};
    const Drawn drawn(problem);
    CHECK(drawn.refused([type](const Tensors& in) {
      return Tensors{(in[0].to(at::kDouble) * 1.5).to(type)};
    }) == 0);
    CHECK(drawn.refused([type](const Tensors& in) {
      return Tensors{(in[0].to(at::kFloat) * 2.0).to(type)};
    }) > 30);
    CHECK(drawn.refused([](const Tensors& in) { return Tensors{in[0].clone()}; }) > 30);
  }
}

TEST_CASE("a result that is rounded on purpose is held to that rounding", "[judge]") {
  const auto problem =
      problem_of([](const Tensors& in) { return Tensors{(in[0] * 1.5).to(at::kHalf)}; });
  const Drawn drawn(problem);
  CHECK(drawn.refused([](const Tensors& in) {
    return Tensors{(in[0].to(at::kDouble) * 1.5).to(at::kHalf)};
  }) == 0);
  CHECK(drawn.refused([](const Tensors& in) {
    return Tensors{(in[0] * 1.5).to(at::kBFloat16).to(at::kHalf)};
  }) > 30);
}

TEST_CASE("inputs of few bits cover their range", "[judge]") {
  auto problem = problem_of([](const Tensors& in) { return Tensors{in[0].to(at::kFloat)}; });
  const auto drawn = [&](DType dtype) {
    problem.dtypes = {dtype};
    const judge::CaseSpec spec{0, dtype, {{"rows", 64}, {"cols", 1000}}, "normal", 5};
    return judge::realise(problem, spec).inputs[0].to(at::kDouble);
  };
  CHECK(drawn(DType::int8).min().item().toDouble() < -100);
  CHECK(drawn(DType::int8).max().item().toDouble() > 100);
  CHECK(drawn(DType::uint8).min().item().toDouble() < 30);
  CHECK(drawn(DType::uint8).max().item().toDouble() > 225);
  CHECK(std::fabs(drawn(DType::boolean).mean().item().toDouble() - 0.5) < 0.02);
}
