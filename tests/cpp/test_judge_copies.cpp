#include <ATen/ops/arange.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/max.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <vector>

#include "catch.hpp"
#include "judge/judge.hpp"
#include "judge_answers.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;
using ouroboros_test::Answer;
using ouroboros_test::problem_of;
using ouroboros_test::refused;

namespace {

std::vector<judge::Case> pool_of(const Problem& problem, const std::vector<DType>& dtypes) {
  auto cases = ouroboros_test::realised(problem, dtypes);
  judge::hold_to_copies(cases);
  return cases;
}

std::ptrdiff_t refused(const Problem& problem, const Answer& answer, DType dtype = DType::float32) {
  return ouroboros_test::refused(problem, pool_of(problem, {dtype}), answer);
}

/// The last bits of each number become `bits`.
at::Tensor with_low_bits(const at::Tensor& x, std::int64_t mask, const at::Tensor& bits) {
  const auto kept = x.contiguous().view(at::kInt).bitwise_and(at::Scalar(~mask));
  return kept.bitwise_or(bits.to(at::kInt)).view(at::kFloat);
}

at::Tensor cut(const at::Tensor& x, std::int64_t mask = 31) {
  return with_low_bits(x, mask, at::zeros({1}));
}

at::Tensor turned(const at::Tensor& x) { return x.t().contiguous(); }

}  // namespace

TEST_CASE("whoever moves numbers keeps all their bits", "[judge]") {
  const auto transpose = problem_of([](const Tensors& in) { return Tensors{turned(in[0])}; });
  CHECK(refused(transpose, transpose.reference) == 0);
  CHECK(refused(transpose, [](const Tensors& in) { return Tensors{turned(cut(in[0]))}; }) > 20);
  CHECK(refused(transpose, [](const Tensors& in) { return Tensors{turned(cut(in[0], 1))}; }) > 20);

  const auto relu = problem_of([](const Tensors& in) { return Tensors{in[0].clamp_min(0.0)}; });
  CHECK(refused(relu, relu.reference) == 0);
  CHECK(refused(relu, [](const Tensors& in) { return Tensors{cut(in[0].clamp_min(0.0), 1)}; }) >
        20);

  const auto largest = problem_of([](const Tensors& in) {
    const auto [numbers, places] = at::max(in[0], -1);
    return Tensors{numbers, places};
  });
  auto named = largest;
  named.outputs = {"numbers", "places"};
  CHECK(refused(named, named.reference) == 0);
  // As packed keys leave it.
  CHECK(refused(named, [](const Tensors& in) {
          const auto places = at::arange(in[0].size(-1)).bitwise_and(at::Scalar(31));
          const auto [numbers, at_places] = at::max(with_low_bits(in[0], 31, places), -1);
          return Tensors{numbers, at_places};
        }) > 20);
}

TEST_CASE("numbers below the normal range are copied on a GPU too", "[judge]") {
  const auto relu = problem_of([](const Tensors& in) { return Tensors{in[0].clamp_min(0.0)}; });
  const auto cases = pool_of(relu, {DType::float32});
  const auto failed = [&](double below) {
    return std::ranges::count_if(cases, [&](const judge::Case& one) {
      const auto made = one.inputs[0].clamp_min(0.0);
      const auto flushed = made.masked_fill(made.lt(below), 0.0);
      return judge::compare(relu, one, {flushed}, judge::Arithmetic::gpu).status == "failed";
    });
  };
  CHECK(failed(0.0) == 0);
  CHECK(failed(0x1p-126) > 0);
}

TEST_CASE("16 bits are copied as exactly as 32", "[judge]") {
  const auto transpose = problem_of([](const Tensors& in) { return Tensors{turned(in[0])}; });
  CHECK(refused(transpose, transpose.reference, DType::float16) == 0);
  const auto without_one = [](const Tensors& in) {
    const auto bits = in[0].view(at::kShort).bitwise_and(at::Scalar(~1));
    return Tensors{turned(bits).view(at::kHalf)};
  };
  CHECK(refused(transpose, without_one, DType::float16) > 20);
}

TEST_CASE("what is computed keeps its room, also where a case shows copies alone", "[judge]") {
  for (const auto& reference : std::vector<Reference>{
           [](const Tensors& in) { return Tensors{in[0].mean(-1)}; },
           [](const Tensors& in) { return Tensors{in[0].logsumexp({-1}, false)}; },
           [](const Tensors& in) { return Tensors{in[0].softmax(-1)}; },
           [](const Tensors& in) { return Tensors{in[0].cumsum(-1)}; },
           [](const Tensors& in) { return Tensors{in[0] * 3.0}; },
           [](const Tensors& in) { return Tensors{at::where(in[0] > 0, in[0], in[0] * 0.3)}; },
           [](const Tensors& in) { return Tensors{in[0].to(at::kHalf)}; }}) {
    const auto problem = problem_of(reference);
    for (const auto& one : pool_of(problem, {DType::float32, DType::float16})) {
      CHECK(one.allowed[0].equal(judge::realise(problem, one.spec).allowed[0]));
    }
  }
  // The means of one column are copies, as far as that case can tell.
  const auto mean = problem_of([](const Tensors& in) { return Tensors{in[0].mean(-1)}; });
  const auto one =
      judge::realise(mean, {0, DType::float32, {{"rows", 4}, {"cols", 1}}, "normal", 5});
  CHECK(one.copies.front() == judge::Copies::yes);
}

TEST_CASE("copies that hang on close calls may be either number", "[judge]") {
  const auto masked = [](const at::Tensor& x, const at::Tensor& mean) {
    return Tensors{at::where(x > mean, x, at::zeros({1}, x.options()))};
  };
  const auto by_a_loop = [](const at::Tensor& x) {
    return x.cumsum(-1).slice(-1, -1) * (1.0 / static_cast<double>(x.size(-1)));
  };
  const auto problem =
      problem_of([&](const Tensors& in) { return masked(in[0], in[0].mean({-1}, true)); });
  CHECK(refused(problem, [&](const Tensors& in) { return masked(in[0], by_a_loop(in[0])); }) == 0);
}

TEST_CASE("what ties decide may be copied from either, however small it is", "[judge]") {
  // Two of four, by size.
  const auto sparse = [](const at::Tensor& x, bool last_first) {
    const auto rows = x.view({x.size(0), -1, 4});
    const auto sizes = last_first ? rows.abs().flip(-1) : rows.abs();
    const auto order = std::get<1>(at::sort(sizes, /*stable=*/true, -1, /*descending=*/true));
    auto kept = order.slice(-1, 0, 2);
    if (last_first) kept = 3 - kept;
    return at::zeros_like(rows).scatter(-1, kept, rows.gather(-1, kept)).view(x.sizes());
  };
  auto problem = problem_of([](const Tensors& in) {
    const auto rows = in[0].view({in[0].size(0), -1, 4});
    const auto kept = std::get<1>(at::topk(rows.abs(), 2));
    return Tensors{
        at::zeros_like(rows).scatter(-1, kept, rows.gather(-1, kept)).view(in[0].sizes())};
  });
  problem.axes[0].minimum = 1;
  problem.axes[1].multiple_of = 4;
  problem.axes[1].minimum = 4;
  problem.dtypes = {DType::float32, DType::bfloat16};
  for (const auto dtype : problem.dtypes) {
    for (const bool last_first : {false, true}) {
      const auto kept = [&](const Tensors& in) { return Tensors{sparse(in[0], last_first)}; };
      CHECK(refused(problem, kept, dtype) == 0);
    }
  }
}

TEST_CASE("numbers that were given are in order or are not", "[judge]") {
  const auto count = [](const at::Tensor& x) { return std::min<std::int64_t>(4, x.size(-1)); };
  auto top = problem_of([&](const Tensors& in) {
    const auto [numbers, places] = at::topk(in[0], count(in[0]));
    return Tensors{numbers, places};
  });
  top.outputs = {"numbers", "places"};
  const auto stable = [&](const at::Tensor& keys, const at::Tensor& x) {
    const auto order = std::get<1>(at::sort(keys, /*stable=*/true, -1, /*descending=*/true));
    const auto places = order.slice(-1, 0, count(x)).contiguous();
    return Tensors{x.gather(-1, places), places};
  };
  const auto cases = pool_of(top, {DType::float32});
  CHECK(refused(top, cases, [&](const Tensors& in) { return stable(in[0], in[0]); }) == 0);
  // Equal ones in the other order.
  CHECK(refused(top, cases, [&](const Tensors& in) {
          const auto last = in[0].size(-1) - 1;
          const auto made = stable(in[0].flip(-1), in[0].flip(-1));
          return Tensors{made[0], last - made[1]};
        }) == 0);
  // By keys that lack five bits: near ones are taken for equal, though their values are right.
  const auto by_keys =
      refused(top, cases, [&](const Tensors& in) { return stable(cut(in[0]), in[0]); });
  CHECK(by_keys > 0);
  // What was computed first is near enough to others.
  auto computed = top;
  computed.reference = [&](const Tensors& in) {
    const auto scores = in[0].softmax(-1);
    const auto [numbers, places] = at::topk(scores, count(scores));
    return Tensors{numbers, places};
  };
  CHECK(refused(computed, [&](const Tensors& in) {
          const auto shifted = (in[0] - in[0].amax({-1}, true)).exp();
          const auto scores = shifted * shifted.sum({-1}, true).reciprocal();
          return stable(scores, scores);
        }) == 0);
}
