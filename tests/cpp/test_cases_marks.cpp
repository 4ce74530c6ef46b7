#include <ATen/TensorOperators.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/where.h>

#include <algorithm>

#include "catch.hpp"
#include "judge/landmarks.hpp"
#include "judge/marks.hpp"
#include "judge/run.hpp"
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

Numbers marks(Reference reference, Values values = Values::index) {
  return marks_of(of_classes(std::move(reference), values), DType::float32);
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

TEST_CASE("what real numbers are compared with is no mark", "[judge]") {
  CHECK(marks([](const Tensors& in) {
          return Tensors{at::where(in[0] > 5, in[0], in[0] * in[1].unsqueeze(1))};
        }).empty());
  CHECK(marks_of(ouroboros_test::softmax_problem(), DType::float32).empty());
}

TEST_CASE("a reference that raises has no marks, and says so elsewhere", "[judge]") {
  CHECK(marks([](const Tensors&) -> Tensors { throw std::runtime_error("no"); }).empty());
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
    CHECK(pool.marks == Numbers{777});
    // By chance alone hardly one of 64 targets would be the same class of a thousand.
    std::int64_t marked = 0;
    for (const auto& one : pool.cases) {
      if (one.spec.family == "equal" || one.spec.axes.at("rows") < 64) continue;
      marked += count_of(one.inputs[1], 777);
    }
    CHECK(marked >= 6);
  }
}
