#include <ATen/ops/amax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/round.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "catch.hpp"
#include "judge/judge.hpp"
#include "judge/runs/inside.hpp"
#include "judge/runs/promote.hpp"
#include "judge_answers.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;
using ouroboros_test::Answer;
using ouroboros_test::problem_of;
using ouroboros_test::refused;

namespace {

using TopK = std::function<at::Tensor(const at::Tensor&, std::int64_t)>;

std::vector<judge::Case> pool_of(const Problem& problem, DType dtype = DType::float32) {
  return ouroboros_test::realised(problem, {dtype});
}

/// Cases of one family and shape.
std::vector<judge::Case> many_of(const Problem& problem, DType dtype, const std::string& family,
                                 const AxisValues& axes, std::uint64_t count) {
  std::vector<judge::Case> cases;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    cases.push_back(judge::realise(problem, {0, dtype, axes, family, seed}));
  }
  return cases;
}

Problem of_experts(Reference reference, std::int64_t experts) {
  auto problem = problem_of(std::move(reference));
  problem.axes[0].minimum = 1;
  problem.axes[1].fixed = experts;
  return problem;
}

at::Tensor any_of_ties(const at::Tensor& x, std::int64_t count) {
  return std::get<1>(at::topk(x, count));
}

at::Tensor first_of_ties(const at::Tensor& x, std::int64_t count) {
  const auto order = std::get<1>(at::sort(x, /*stable=*/true, -1, /*descending=*/true));
  return order.slice(-1, 0, count);
}

at::Tensor last_of_ties(const at::Tensor& x, std::int64_t count) {
  return x.size(-1) - 1 - first_of_ties(x.flip(-1), count);
}

/// Of groups of four the three with the largest maxima: one for each member, and else zero.
at::Tensor kept_of(const at::Tensor& scores, const TopK& groups) {
  const auto best = scores.reshape({scores.size(0), -1, 4}).amax({-1});
  return at::zeros_like(best).scatter_(-1, groups(best, 3), 1.0).repeat_interleave(4, -1);
}

/// The places of their largest six.
at::Tensor in_two_stages(const at::Tensor& scores, const TopK& groups, const TopK& members) {
  const auto outside = kept_of(scores, groups).eq(0);
  return members(scores.masked_fill(outside, -std::numeric_limits<double>::infinity()), 6);
}

at::Tensor by_hand(const at::Tensor& x) {
  const auto e = (x - x.amax({-1}, true)).exp();
  return e * e.sum({-1}, true).reciprocal();
}

/// As its first three bytes have it.
at::Tensor cut(const at::Tensor& x) {
  return x.contiguous().view(at::kInt).bitwise_and(at::Scalar(~0xffff)).view(at::kFloat);
}

}  // namespace

TEST_CASE("of groups that are equal any may be chosen, and then its members", "[judge]") {
  const auto problem = of_experts(
      [](const Tensors& in) { return Tensors{in_two_stages(in[0], any_of_ties, any_of_ties)}; },
      32);
  const auto cases = pool_of(problem);
  for (const TopK& one : {TopK(first_of_ties), TopK(last_of_ties)}) {
    CHECK(refused(problem, cases,
                  [&](const Tensors& in) { return Tensors{in_two_stages(in[0], one, one)}; }) == 0);
  }
  // The first group, and of its members the last.
  CHECK(refused(problem, cases, [&](const Tensors& in) {
          return Tensors{in_two_stages(in[0], first_of_ties, last_of_ties)};
        }) == 0);
  // Numbers that were given are equal or they are not.
  CHECK(refused(problem, cases, [&](const Tensors& in) {
          return Tensors{in_two_stages(cut(in[0]), first_of_ties, first_of_ties)};
        }) > 0);
  CHECK(refused(problem, cases,
                [&](const Tensors& in) { return Tensors{first_of_ties(in[0], 6)}; }) > 0);
}

TEST_CASE("of groups that are as good as equal any may be chosen", "[judge]") {
  const auto problem = of_experts(
      [](const Tensors& in) {
        return Tensors{in_two_stages(in[0].softmax(-1), any_of_ties, any_of_ties)};
      },
      32);
  const auto cases = pool_of(problem);
  for (const TopK& one : {TopK(first_of_ties), TopK(last_of_ties)}) {
    CHECK(refused(problem, cases, [&](const Tensors& in) {
            return Tensors{in_two_stages(by_hand(in[0]), one, one)};
          }) == 0);
  }
  CHECK(refused(problem, cases, [&](const Tensors& in) {
          return Tensors{in_two_stages(cut(by_hand(in[0])), first_of_ties, first_of_ties)};
        }) > 0);
  CHECK(refused(problem, cases,
                [&](const Tensors& in) { return Tensors{first_of_ties(by_hand(in[0]), 6)}; }) > 0);
}

TEST_CASE("who leaves a stage of a choice out is refused, however groups are kept", "[judge]") {
  using Mask = std::function<at::Tensor(const at::Tensor& scores, const at::Tensor& kept)>;
  for (const Mask& masked :
       {Mask([](const at::Tensor& s, const at::Tensor& kept) { return s * kept; }),
        Mask([](const at::Tensor& s, const at::Tensor& kept) {
          return s.masked_fill((1 - kept).ne(0), -std::numeric_limits<double>::infinity());
        }),
        Mask([](const at::Tensor& s, const at::Tensor& kept) {
          return at::where(kept.mul(0.7).gt(0), s, -1e30);
        })}) {
    const auto problem = of_experts(
        [&](const Tensors& in) {
          const auto scores = in[0].sigmoid();
          return Tensors{any_of_ties(masked(scores, kept_of(scores, any_of_ties)), 6)};
        },
        32);
    CHECK(refused(problem, pool_of(problem), [](const Tensors& in) {
            return Tensors{first_of_ties(in[0].sigmoid(), 6)};
          }) > 15);
  }
}

TEST_CASE("zeros and ones alone are a mask, which nothing is in favour of", "[judge]") {
  const auto nothing_is_left = [](const at::Tensor& input) {
    const auto chosen = at::ones(input.sizes(), at::kBool);
    const Tensors given = {input};
    judge::Inside inside;
    inside.given = &given;
    inside.single = true;
    inside.favoured = &chosen;
    inside.favour = 0x1p-20;
    const auto made =
        judge::promoted([](const Tensors& in) { return Tensors{(in[0] - in[0].round()).eq(0)}; },
                        given, at::kDouble, inside);
    return made.front().all().item().toBool();
  };
  const auto mask = at::arange(2, at::kDouble).repeat({4});
  CHECK(nothing_is_left(mask));
  CHECK_FALSE(nothing_is_left(mask * 3));
}

TEST_CASE("counts of a choice may differ by equal numbers and by near ones at once", "[judge]") {
  const auto counts = [](const at::Tensor& chosen) {
    return Tensors{at::bincount(chosen.flatten(), {}, 16)};
  };
  const auto problem =
      of_experts([&](const Tensors& in) { return counts(any_of_ties(in[0].softmax(-1), 2)); }, 16);
  for (const auto dtype : {DType::float16, DType::float32}) {
    const auto cases = many_of(problem, dtype, "patchwork", {{"rows", 256}, {"cols", 16}}, 40);
    for (const TopK& one : {TopK(first_of_ties), TopK(last_of_ties)}) {
      CHECK(refused(problem, cases, [&](const Tensors& in) {
              return counts(one(by_hand(in[0].to(at::kFloat)), 2));
            }) == 0);
    }
    CHECK(refused(problem, cases, [&](const Tensors& in) {
            return counts(first_of_ties(by_hand(in[0].to(at::kFloat)), 3));
          }) > 0);
  }
}

TEST_CASE("equal integers may come in any order, as equal real numbers do", "[judge]") {
  for (const auto dtype : {DType::int32, DType::int64, DType::uint8}) {
    const auto with_places = [&](const TopK& places_of) {
      auto problem = problem_of([places_of](const Tensors& in) {
        const auto places = places_of(in[0], 3);
        // Its third largest number, and whether a member is larger than it: both are the same of
        // all orders.
        const auto third = in[0].gather(-1, places).select(-1, 2);
        return Tensors{places, third, in[0].gt(third.unsqueeze(-1)).sum({-1})};
      });
      problem.outputs = {"places", "third", "count"};
      problem.axes[1].minimum = 4;
      problem.dtypes = {dtype};
      return problem;
    };
    const auto problem = with_places(any_of_ties);
    const auto pool = pool_of(problem, dtype);
    const auto refused_of = [&](const TopK& places_of) {
      return refused(problem, pool, with_places(places_of).reference);
    };
    CHECK_FALSE(refused_of(first_of_ties));
    CHECK_FALSE(refused_of(last_of_ties));
    CHECK(refused_of([](const at::Tensor& x, std::int64_t count) {
      return first_of_ties(x, count + 1).slice(-1, 1);
    }));
    CHECK(refused_of([](const at::Tensor& x, std::int64_t count) {  // Without the last bit.
      return first_of_ties(x.bitwise_or(1), count);
    }));
  }
}

TEST_CASE("what hangs on the order of equal integers may be what any order makes of it",
          "[judge]") {
  const auto payload = [](const TopK& places_of) {
    return [places_of](const Tensors& in) {
      return Tensors{
          at::arange(in[0].size(-1)).expand_as(in[0]).gather(-1, places_of(in[0], 1)).mul(3)};
    };
  };
  auto problem = problem_of(payload(any_of_ties));
  problem.dtypes = {DType::uint8};
  const auto pool = pool_of(problem, DType::uint8);
  CHECK_FALSE(refused(problem, pool, payload(first_of_ties)));
  CHECK_FALSE(refused(problem, pool, payload(last_of_ties)));
  CHECK(refused(problem, pool,
                [&](const Tensors& in) { return Tensors{payload(first_of_ties)(in)[0] + 1}; }));
}

TEST_CASE("a mixture of experts may rank logits where their softmax has ties", "[judge]") {
  static constexpr std::int64_t experts = 8;
  static constexpr std::int64_t chosen = 2;
  const auto mixed = [](const Tensors& in, const at::Tensor& places, const at::Tensor& weights) {
    const auto payload = in[0].slice(-1, experts).to(weights.scalar_type());
    return Tensors{(payload.gather(-1, places) * weights).sum(-1).to(in[0].scalar_type())};
  };
  const auto problem = of_experts(
      [&](const Tensors& in) {
        const auto p = at::softmax(in[0].slice(-1, 0, experts), -1, at::kFloat);
        const auto [best, places] = at::topk(p, chosen);
        return mixed(in, places, best / best.sum(-1, true));
      },
      2 * experts);
  const auto by_logits = [&](std::int64_t first) {
    return [&, first](const Tensors& in) {
      const auto logits = in[0].slice(-1, 0, experts).to(at::kFloat);
      const auto places = first_of_ties(logits, first + chosen).slice(-1, first);
      return mixed(in, places, at::softmax(logits.gather(-1, places), -1));
    };
  };
  for (const auto dtype : {DType::float32, DType::bfloat16}) {
    for (const char* family : {"faint", "tiny", "normal"}) {
      INFO(family);
      const auto cases = many_of(problem, dtype, family, {{"rows", 300}}, 4);
      CHECK_FALSE(refused(problem, cases, by_logits(0)));
      if (family == std::string("normal")) CHECK(refused(problem, cases, by_logits(1)) > 0);
    }
  }
}

TEST_CASE("a count by a running sum may be that of a plain loop", "[judge]") {
  // The smallest probabilities that make seven tenths. Added one by one in float32, equal ones
  // drift: all the same way, and by more than anything moves.
  const auto count_of = [](const at::Tensor& sums) {
    return Tensors{sums.lt(0.7).sum(-1).to(at::kLong)};
  };
  const auto problem = problem_of(
      [&](const Tensors& in) { return count_of(at::cumsum(at::softmax(in[0], -1), -1)); });
  const auto in_a_loop = [&](const Tensors& in, float part) {
    auto sums = at::softmax(in[0], -1) * part;
    for (std::int64_t row = 0; row < sums.size(0); ++row) {
      auto* p = sums[row].mutable_data_ptr<float>();
      for (std::int64_t i = 1; i < sums.size(1); ++i) p[i] += p[i - 1];
    }
    return count_of(sums);
  };
  for (const auto* family : {"tiny", "equal", "odd_sign"}) {
    INFO(family);
    const auto cases = many_of(problem, DType::float32, family, {{"rows", 33}, {"cols", 4000}}, 4);
    CHECK(refused(problem, cases, [&](const Tensors& in) { return in_a_loop(in, 1.0F); }) == 0);
    CHECK(refused(problem, cases, [&](const Tensors& in) { return in_a_loop(in, 0.999F); }) == 4);
  }
}

TEST_CASE("halves of opposite numbers may both be rounded up", "[judge]") {
  // Two numbers of four bits in a byte.
  const auto packed = [](const at::Tensor& x, const Answer& nearest) {
    const auto low = x.amin({-1}, true);
    const auto scale = ((x.amax({-1}, true) - low) / 15).clamp_min(1e-8);
    const auto q = nearest({x - low, scale}).front().clamp(0, 15).to(at::kInt);
    return Tensors{q.slice(-1, 0, std::nullopt, 2) + 16 * q.slice(-1, 1, std::nullopt, 2)};
  };
  const Answer even = [](const Tensors& in) { return Tensors{(in[0] / in[1]).round()}; };
  const auto problem = problem_of([&](const Tensors& in) { return packed(in[0], even); });
  const auto cases = many_of(problem, DType::float32, "equal", {{"rows", 64}, {"cols", 32}}, 60);
  CHECK(refused(problem, cases, [&](const Tensors& in) {
          return packed(in[0], [](const Tensors& q) {
            return Tensors{(q[0] * q[1].reciprocal() + 0.5).floor()};
          });
        }) == 0);
  CHECK(refused(problem, cases, [&](const Tensors& in) {
          return packed(in[0], [](const Tensors& q) { return Tensors{(q[0] / q[1]).floor()}; });
        }) > 0);
}

TEST_CASE("integers may be rounded from what was computed of integers", "[judge]") {
  // Grey of colours, as images have it: bytes in, bytes out, and halves in between.
  const auto grey = [](const Tensors& in, at::ScalarType wide) {
    const auto x = in[0].to(wide);
    return Tensors{(x * 0.299 + x.roll(1, -1) * 0.587 + x.roll(2, -1) * 0.114)
                       .round()
                       .clamp(0, 255)
                       .to(at::kByte)};
  };
  auto problem = problem_of([&](const Tensors& in) { return grey(in, at::kFloat); });
  problem.inputs[0].dtype = DType::uint8;
  int refused = 0;
  int apart = 0;
  for (const auto& spec : judge::derive_cases(problem, {DType::float32}, 7)) {
    const auto one = judge::realise(problem, spec);
    INFO(spec.family << ", " << one.inputs[0].sizes());
    const auto made = grey(one.inputs, at::kDouble);
    apart += made[0].ne(one.reference[0]).any().item().toBool() ? 1 : 0;
    CHECK(judge::compare(problem, one, made).status == "passed");
    CHECK(judge::compare(problem, one, one.reference).status == "passed");
    // Cut off for rounded.
    const auto x = one.inputs[0].to(at::kDouble);
    const auto sum = x * 0.299 + x.roll(1, -1) * 0.587 + x.roll(2, -1) * 0.114;
    const Tensors cut = {sum.floor().clamp(0, 255).to(at::kByte)};
    refused += judge::compare(problem, one, cut).status == "failed" ? 1 : 0;
  }
  CHECK(apart > 0);
  CHECK(refused > 20);
}
