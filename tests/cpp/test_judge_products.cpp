#include <ATen/ops/amax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/exp2.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/nextafter.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "catch.hpp"
#include "judge/base/random.hpp"
#include "judge/judge.hpp"
#include "judge/values/families.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;

namespace {

/// softmax(q k^T / sqrt 32) v, for each head
Problem attention() {
  auto problem = ouroboros_test::problem_of([](const Tensors& in) {
    const auto scores = at::matmul(in[0], in[1].mT()) / std::sqrt(32.0);
    return Tensors{at::matmul(at::softmax(scores, -1), in[2])};
  });
  problem.axes = {Axis{"heads"}, Axis{"queries"}, Axis{"keys"}};
  const auto input = [](const std::string& name, const std::string& rows) {
    Input made;
    made.name = name;
    made.shape = {{1, "heads"}, {1, rows}, {32, ""}};
    return made;
  };
  problem.inputs = {input("q", "queries"), input("k", "keys"), input("v", "keys")};
  return problem;
}

/// By plain loops, with the queries scaled first.
at::Tensor in_loops(const Tensors& in) {
  const auto q = (in[0] * static_cast<float>(1.0 / std::sqrt(32.0))).contiguous();
  const auto scores = at::matmul(q, in[1].mT()).zero_();
  for (std::int64_t d = 0; d < 32; ++d) {
    scores.add_(q.select(2, d).unsqueeze(2) * in[1].select(2, d).unsqueeze(1));
  }
  return at::matmul(at::softmax(scores, -1), in[2]);
}

}  // namespace

TEST_CASE("another score may win where float32 cannot tell the largest apart", "[judge]") {
  // Scores near 2^24, each off by ones.
  const auto problem = attention();
  for (std::uint64_t seed = 40; seed < 50; ++seed) {
    const judge::CaseSpec spec{
        0, DType::float32, {{"heads", 16}, {"queries", 2}, {"keys", 125}}, "large_mean", seed};
    const auto one = judge::realise(problem, spec);
    const auto made = in_loops(one.inputs);
    INFO("seed " << seed);
    CHECK(judge::compare(problem, one, {made}).status == "passed");
    CHECK(judge::compare(problem, one, {made * 2.0F}).status == "failed");
  }
}

TEST_CASE("tiles of keys that lie far below the maximum so far may not be skipped", "[judge]") {
  constexpr std::int64_t tile = 64;
  constexpr float far_below = 9;
  const auto problem = attention();
  CHECK(judge::may_score(problem));
  // Tile by tile, as an attention that never holds all scores; skips what no query of a tile needs.
  const auto tiled = [](const Tensors& in, bool skips) {
    Tensors heads;
    for (std::int64_t head = 0; head < in[0].size(0); ++head) {
      Tensors rows;
      for (const auto& q : in[0][head].split(tile)) {
        auto top = at::full({q.size(0), 1}, -std::numeric_limits<double>::infinity(), q.options());
        auto sum = at::zeros({q.size(0), 1}, q.options());
        auto out = at::zeros_like(q);
        for (std::int64_t at = 0; at < in[1].size(1); at += tile) {
          const auto end = std::min(at + tile, in[1].size(1));
          const auto scores = at::matmul(q, in[1][head].slice(0, at, end).t()) /
                              static_cast<float>(std::sqrt(32.0));
          const auto highest = scores.amax(-1, true);
          if (skips && (highest < top - far_below).all().item<bool>()) continue;
          const auto now = at::maximum(top, highest);
          const auto weights = (scores - now).exp();
          const auto kept = (top - now).exp();
          sum = sum * kept + weights.sum(-1, true);
          out = out * kept + at::matmul(weights, in[2][head].slice(0, at, end));
          top = now;
        }
        rows.push_back(out / sum);
      }
      heads.push_back(at::cat(rows));
    }
    return at::stack(heads);
  };
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    INFO("seed " << seed);
    const auto verdict = [&](const std::string& family, bool skips) {
      const judge::CaseSpec spec{
          0, DType::float32, {{"heads", 4}, {"queries", 256}, {"keys", 512}}, family, seed};
      const auto one = judge::realise(problem, spec);
      return judge::compare(problem, one, {tiled(one.inputs, skips)}).status;
    };
    CHECK(verdict("sink", false) == "passed");
    CHECK(verdict("sink", true) == "failed");
    CHECK(verdict("normal", true) == "passed");  // None of its tiles is that far below.
  }
}

TEST_CASE("scores that float32 cannot tell apart may be taken for equal", "[judge]") {
  // softmax(q k^T / sqrt 32 - distance / 2^(1 + head)) v, causal
  const auto biased = [](const Tensors& in, double unit) {
    const auto at = at::arange(in[0].size(2), in[0].options());
    const auto gap = at.unsqueeze(1) - at.unsqueeze(0);
    const auto slopes = at::pow(2.0, -at::arange(1, 9, in[0].options())).view({8, 1, 1});
    const auto scores = at::matmul(in[0], in[1].mT()) * (unit / std::sqrt(32.0));
    return (scores - slopes * unit * gap)
        .masked_fill(gap < 0, -std::numeric_limits<double>::infinity());
  };
  auto problem = ouroboros_test::problem_of([&](const Tensors& in) {
    return Tensors{at::matmul(at::softmax(biased(in, 1.0), -1), in[2])};
  });
  problem.axes = {Axis{"batch"}, Axis{"length"}};
  problem.inputs.clear();
  for (const char* name : {"q", "k", "v"}) {
    problem.inputs.emplace_back();
    problem.inputs.back().name = name;
    problem.inputs.back().shape = {{1, "batch"}, {8, ""}, {1, "length"}, {32, ""}};
  }
  // The last seed has keys that share the place of their large number with a query: products near
  // 2^29, of which four are equal where one is the largest by seven.
  for (const std::uint64_t seed :
       {std::uint64_t{1}, std::uint64_t{2}, judge::random::key(43, 36)}) {
    const auto one =
        judge::realise(problem, {0, DType::float32, {{"batch", 3}, {"length", 64}}, "spike", seed});
    // To base 2, which rounds once more.
    const auto scores = biased(one.inputs, M_LOG2E);
    const auto weights = (scores - scores.amax(-1, true)).exp2();
    const auto made = at::matmul(weights / weights.sum(-1, true), one.inputs[2]);
    INFO("seed " << seed);
    CHECK(judge::compare(problem, one, {made}).status == "passed");
    CHECK(judge::compare(problem, one, {made * 2.0F}).status == "failed");
  }
}

TEST_CASE("a product with dequantised weights may be taken apart", "[judge]") {
  // (sum x q - z sum x) s, as kernels have it that keep the weights as they are: by a plain loop.
  const auto turned = GENERATE(0, 1, 2);
  auto problem = ouroboros_test::problem_of([turned](const Tensors& in) {
    const auto like = in[0].scalar_type();
    const auto whole = in[1].to(like) - in[2].to(like).unsqueeze(1);
    if (turned == 0) return Tensors{at::matmul(in[0], (whole * in[3].unsqueeze(1)).t())};
    if (turned == 1) return Tensors{at::matmul(in[0], (whole * in[3].unsqueeze(1)).numpy_T())};
    return Tensors{at::matmul(in[0], whole.swapaxes(0, 1) / in[3].reciprocal())};
  });
  problem.axes.push_back(Axis{"n"});
  const auto input = [](const std::string& name, std::vector<Dim> shape) {
    Input made;
    made.name = name;
    made.shape = std::move(shape);
    return made;
  };
  for (const auto* name : {"q", "z", "s"}) {
    auto made = input(name, {{1, "n"}});
    if (made.name == "q") made.shape.push_back({1, "cols"});
    if (made.name == "s") {
      made.values = Values::positive;
    } else {
      made.dtype = DType::int8;
    }
    problem.inputs.push_back(made);
  }
  const auto taken_apart = [](const Tensors& in) {
    const auto q = in[1].to(at::kFloat);
    auto sums = at::zeros({in[0].size(0), q.size(0)});
    auto sum = at::zeros({in[0].size(0), 1});
    for (std::int64_t i = 0; i < q.size(1); ++i) {
      const auto x = in[0].narrow(1, i, 1);
      sums.addcmul_(x, q.select(1, i).unsqueeze(0));
      sum.add_(x);
    }
    return (sums - sum * in[2].to(at::kFloat)) * in[3];
  };
  for (const auto* family : {"normal", "common_mean", "large_mean", "sorted"}) {
    for (std::uint64_t seed = 1; seed < 4; ++seed) {
      INFO(family << ", seed " << seed << ", turned " << turned);
      const judge::CaseSpec spec{
          0, DType::float32, {{"rows", 9}, {"cols", 1500}, {"n", 33}}, family, seed};
      const auto one = judge::realise(problem, spec);
      const auto made = taken_apart(one.inputs);
      CHECK(judge::compare(problem, one, {made}).status == "passed");
      if (std::string(family) == "normal") {
        CHECK(judge::compare(problem, one, {made * 1.001F}).status == "failed");
      }
    }
  }
}

TEST_CASE("products of eight bits may be added up with fourteen", "[judge]") {
  auto problem = ouroboros_test::problem_of([](const Tensors& in) {
    return Tensors{at::matmul(in[0].to(at::kFloat), in[1].to(at::kFloat).t())};
  });
  problem.axes.push_back(Axis{"n"});
  problem.inputs.push_back(problem.inputs[0]);
  problem.inputs[1].name = "y";
  problem.inputs[1].shape[0] = {1, "n"};
  for (auto& input : problem.inputs) input.dtype = DType::float8_e4m3fn;
  // As tensor cores do: of 32 terms, and the sum before, what 14 bits of the largest hold.
  const auto added_up = [](const Tensors& in, double bits) {
    const auto x = in[0].to(at::kDouble);
    const auto y = in[1].to(at::kDouble);
    auto sum = at::zeros({x.size(0), y.size(0), 1}, at::kDouble);
    for (std::int64_t first = 0; first < x.size(1); first += 32) {
      const auto last = std::min(first + 32, x.size(1));
      const auto terms = at::cat(
          {sum, x.slice(1, first, last).unsqueeze(1) * y.slice(1, first, last).unsqueeze(0)}, -1);
      const auto step =
          at::exp2(terms.abs().amax(-1, true).clamp_min(1e-30).log2().floor() - (bits - 1));
      sum = (terms / step).trunc().sum(-1, true) * step;
    }
    return sum.squeeze(-1).to(at::kFloat);
  };
  for (const std::int64_t cols : {32, 1000}) {
    INFO(cols);
    const judge::CaseSpec spec{
        0, DType::float32, {{"rows", 33}, {"cols", cols}, {"n", 40}}, "normal", 3};
    const auto one = judge::realise(problem, spec);
    CHECK(judge::compare(problem, one, {added_up(one.inputs, 14)}).status == "passed");
    CHECK(judge::compare(problem, one, {added_up(one.inputs, 8)}).status == "failed");
  }
}

TEST_CASE("products of three of TF32 may be cut off three times as often", "[judge]") {
  auto problem = ouroboros_test::problem_of(
      [](const Tensors& in) { return Tensors{at::matmul(in[0], in[1].t())}; });
  problem.axes.push_back(Axis{"n"});
  problem.inputs.push_back(problem.inputs[0]);
  problem.inputs[1].name = "y";
  problem.inputs[1].shape[0] = {1, "n"};
  const auto high = [](const at::Tensor& x) {  // To 11 bits.
    const auto split = x * (0x1p13F + 1.0F);
    return split - (split - x);
  };
  const auto cut_off = [](const at::Tensor& sum) {
    const auto near = sum.to(at::kFloat);
    const auto towards_zero = at::nextafter(near, at::zeros_like(near));
    return at::where(near.to(at::kDouble).abs() > sum.abs(), towards_zero, near).to(at::kDouble);
  };
  const auto multiplied = [&](const Tensors& in, bool all) {
    constexpr std::int64_t terms = 4;
    const auto x = high(in[0]);
    const auto y = high(in[1]);
    auto sum = at::zeros({x.size(0), y.size(0)}, at::kDouble);
    const auto add = [&](const at::Tensor& a, const at::Tensor& b, std::int64_t first) {
      const auto last = std::min(first + terms, a.size(1));
      const auto part = at::matmul(a.slice(1, first, last).to(at::kDouble),
                                   b.slice(1, first, last).to(at::kDouble).t());
      sum = cut_off(sum + part);
    };
    for (std::int64_t first = 0; first < x.size(1); first += terms) {
      if (all) add(in[0] - x, y, first);
      if (all) add(x, in[1] - y, first);
      add(x, y, first);
    }
    return sum.to(at::kFloat);
  };
  for (const auto* family : {"normal", "large_mean", "uniform"}) {
    for (const std::int64_t cols : {32, 256, 2000}) {
      INFO(family << ", " << cols);
      const judge::CaseSpec spec{
          0, DType::float32, {{"rows", 33}, {"cols", cols}, {"n", 40}}, family, 3};
      const auto one = judge::realise(problem, spec);
      CHECK(judge::compare(problem, one, {multiplied(one.inputs, true)}).status == "passed");
      if (std::string_view(family) != "normal") continue;
      CHECK(judge::compare(problem, one, {multiplied(one.inputs, false)}).status == "failed");
    }
  }
  // A large term that comes first is there whenever something is cut off, and one that comes last
  // never.
  for (const auto* family : {"scattered", "spike", "mixed"}) {
    for (std::uint64_t seed = 1; seed < 9; ++seed) {
      INFO(family << ", seed " << seed);
      const judge::CaseSpec spec{
          0, DType::float32, {{"rows", 96}, {"cols", 512}, {"n", 96}}, family, seed};
      const auto one = judge::realise(problem, spec);
      const auto reversed = Tensors{one.inputs[0].flip(1), one.inputs[1].flip(1)};
      CHECK(judge::compare(problem, one, {multiplied(one.inputs, true)}).status == "passed");
      CHECK(judge::compare(problem, one, {multiplied(reversed, true)}).status == "passed");
    }
  }
}

TEST_CASE("whole numbers may be multiplied beside eight bits", "[judge]") {
  auto problem = ouroboros_test::problem_of([](const Tensors& in) {
    const auto whole = in[2].to(at::kInt);
    return Tensors{at::matmul(in[0].to(at::kFloat), in[1].to(at::kFloat).t()),
                   at::matmul(whole, whole.t())};
  });
  problem.outputs = {"eight", "whole"};
  problem.inputs.resize(3, problem.inputs[0]);
  for (std::size_t i = 0; i < 3; ++i) {
    problem.inputs[i].name = "x" + std::to_string(i);
    problem.inputs[i].dtype = i == 2 ? DType::int8 : DType::float8_e4m3fn;
  }
  const judge::CaseSpec spec{0, DType::float32, {{"rows", 40}, {"cols", 64}}, "normal", 3};
  const auto one = judge::realise(problem, spec);
  CHECK(judge::compare(problem, one, one.reference).status == "passed");
  CHECK(judge::compare(problem, one, {one.reference[0], one.reference[1] + 1}).status == "failed");
}
