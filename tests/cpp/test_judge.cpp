#include <ATen/ops/full_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>

#include "catch.hpp"
#include "judge/base/tensors.hpp"
#include "judge/judge.hpp"
#include "judge/tolerance/longest_sum.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;
using ouroboros_test::problem_of;

namespace {

std::string fault_of(const Problem& problem) {
  std::vector<judge::Case> cases;
  for (const auto& spec : judge::derive_cases(problem, problem.dtypes, 17)) {
    cases.push_back(judge::realise(problem, spec));
  }
  return judge::validate(problem, cases).value_or("");
}

}  // namespace

TEST_CASE("a sound problem has no fault", "[judge]") {
  CHECK(fault_of(ouroboros_test::softmax_problem()).empty());
}

TEST_CASE("a problem that a null candidate solves is named as such", "[judge]") {
  CHECK_THAT(fault_of(problem_of([](const Tensors& in) { return Tensors{at::zeros_like(in[0])}; })),
             ContainsSubstring("zeros"));
  CHECK_THAT(fault_of(problem_of([](const Tensors& in) { return Tensors{at::ones_like(in[0])}; })),
             ContainsSubstring("ones"));
  CHECK_THAT(
      fault_of(problem_of([](const Tensors& in) { return Tensors{at::full_like(in[0], 0.25)}; })),
      ContainsSubstring("the mean"));
  CHECK_THAT(fault_of(problem_of([](const Tensors& in) { return Tensors{in[0].clone()}; })),
             ContainsSubstring("first input"));
  CHECK_THAT(fault_of(problem_of(
                 [](const Tensors& in) { return Tensors{at::ones_like(in[0]).cumsum(-1)}; })),
             ContainsSubstring("previous case's output"));
}

TEST_CASE("an oracle that computes something else is a fault of the problem", "[judge]") {
  auto problem = ouroboros_test::softmax_problem();
  const auto with = [&](const std::function<at::Tensor(const at::Tensor&)>& oracle) {
    problem.oracle = [oracle](const Tensors& in) { return Tensors{oracle(in[0])}; };
    return fault_of(problem);
  };
  const auto softmax = [](const at::Tensor& x) { return at::softmax(x, -1); };
  CHECK(with(softmax).empty());
  for (const auto& wrong : std::vector<std::function<at::Tensor(const at::Tensor&)>>{
           [](const at::Tensor& x) { return at::softmax(x, 0); },
           [&](const at::Tensor& x) { return 2 * softmax(x); },
           [&](const at::Tensor& x) { return softmax(x).log(); },
           [](const at::Tensor& x) { return at::zeros_like(x); }}) {
    const auto fault = with(wrong);
    CHECK_THAT(fault, ContainsSubstring("has an oracle that does not compute what its reference"));
    CHECK_THAT(fault, ContainsSubstring("output 'out'"));
  }
}

TEST_CASE("an oracle may be finer than its reference", "[judge]") {
  // Numbers to the quarter, and integers that are one off.
  auto coarse = problem_of([](const Tensors& in) { return Tensors{(4 * in[0]).round() / 4}; });
  coarse.oracle = [](const Tensors& in) { return Tensors{in[0].clone()}; };
  CHECK(fault_of(coarse).find("oracle") == std::string::npos);
  auto counted =
      problem_of([](const Tensors& in) { return Tensors{(8 * in[0]).floor().to(at::kLong)}; });
  counted.oracle = [](const Tensors& in) { return Tensors{(8 * in[0]).ceil().to(at::kLong)}; };
  CHECK(fault_of(counted).find("oracle") == std::string::npos);
}

TEST_CASE("an output of one number is sound", "[judge]") {
  CHECK(fault_of(problem_of([](const Tensors& in) { return Tensors{in[0].sum()}; })).empty());
}

TEST_CASE("an input that nothing depends on is named", "[judge]") {
  auto problem = problem_of([](const Tensors& in) { return Tensors{in[0].cumsum(-1)}; });
  auto idle = problem.inputs[0];
  idle.name = "idle";
  problem.inputs.push_back(idle);
  CHECK_THAT(fault_of(problem), ContainsSubstring("'idle'"));
  // A model's may cancel out, as the bias before a normalisation does.
  problem.inputs[1].parameter = true;
  CHECK(fault_of(problem) == "");
}

TEST_CASE("results whose shape hangs on values are a fault of the problem", "[judge]") {
  for (const Reference& chosen :
       {Reference([](const Tensors& in) { return Tensors{in[0].masked_select(in[0] > 0)}; }),
        Reference([](const Tensors& in) { return Tensors{(in[0] > 0).nonzero().select(1, 0)}; })}) {
    CHECK_THROWS_WITH(fault_of(problem_of(chosen)),
                      ContainsSubstring("the shape of 'out' depends on the values"));
  }
}

TEST_CASE("every shipped problem is sound and accepts its own reference", "[judge]") {
  for (const auto& name : problems::names()) {
    const auto problem = problems::get(name);
    std::vector<judge::Case> cases;
    for (const auto& spec : judge::derive_cases(problem, problem.dtypes, 23)) {
      cases.push_back(judge::realise(problem, spec));
      const auto& one = cases.back();
      CAPTURE(name, spec.family, to_string(spec.dtype));
      CHECK(judge::compare(problem, one, one.reference).status == "passed");
    }
    CAPTURE(name);
    CHECK(judge::validate(problem, cases).value_or("") == "");
  }
}

TEST_CASE("results of lower precision than the dtype's are refused", "[judge]") {
  for (const auto& name : problems::names()) {
    const auto problem = problems::get(name);
    int narrow_changed = 0;
    int narrow_refused = 0;
    int single_changed = 0;
    int single_refused = 0;
    std::vector<judge::CaseSpec> specs;
    for (const std::uint64_t seed : {29, 30, 31}) {  // Which shape meets which family matters.
      const auto more = judge::derive_cases(problem, {DType::float32, DType::float64}, seed);
      specs.insert(specs.end(), more.begin(), more.end());
    }
    for (const auto& spec : specs) {
      if (spec.family == "patchwork") continue;  // Has ill-conditioned rows by what it is.
      const auto one = judge::realise(problem, spec);
      Tensors lowered;
      for (const auto& made : one.reference) {
        const auto lower = spec.dtype == DType::float32 ? at::kBFloat16 : at::kFloat;
        lowered.push_back(made.to(lower).to(made.scalar_type()));
      }
      // Zeros and ones survive any rounding.
      if (lowered.front().equal(one.reference.front())) continue;
      const bool refused = judge::compare(problem, one, lowered).status != "passed";
      const bool narrow = spec.dtype == DType::float32;
      ++(narrow ? narrow_changed : single_changed);
      (narrow ? narrow_refused : single_refused) += refused;
    }
    // An ill-conditioned case may forgive it. Most are not.
    CAPTURE(name, narrow_changed, narrow_refused, single_changed, single_refused);
    CHECK(narrow_refused >= 18);
    CHECK(3 * narrow_refused >= 2 * narrow_changed);
    CHECK(single_refused >= 24);
    CHECK(3 * single_refused >= 2 * single_changed);
  }
}

TEST_CASE("small results may not be zero where there are few results", "[judge]") {
  const auto norms = [](const Tensors& in) { return in[0].norm(2, {-1}); };
  const auto problem = problem_of([&](const Tensors& in) { return Tensors{norms(in)}; });
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    int refused = 0;
    for (const auto& spec : judge::derive_cases(problem, {DType::float32}, seed)) {
      const auto one = judge::realise(problem, spec);
      auto floored = norms(one.inputs);
      floored.masked_fill_(floored < 1e-8, 0.0);
      refused += judge::compare(problem, one, {floored}).status != "passed" ? 1 : 0;
    }
    CAPTURE(seed);
    CHECK(refused > 0);
  }
}

TEST_CASE("a call has the buffers in order, and the sizes of free axes", "[judge]") {
  auto problem = problem_of([](const Tensors& in) { return Tensors{in[0].sum(-1).sum(-1)}; });
  Axis depth;
  depth.name = "depth";
  depth.fixed = 4;
  problem.axes.insert(problem.axes.begin(), depth);
  problem.inputs[0].shape.push_back({2, "depth"});
  const auto one =
      judge::realise(problem, {0, DType::float64, {{"rows", 3}, {"cols", 5}}, "normal", 1});
  const auto call = judge::call_for(problem, one);
  CHECK(call.entry == "run_float64");
  REQUIRE(call.buffers.size() == 2);
  CHECK(call.buffers[0].name == "x");
  CHECK(call.buffers[0].role == BufferRole::input);
  CHECK(call.buffers[0].shape == std::vector<std::int64_t>{3, 5, 8});
  CHECK(call.buffers[1].role == BufferRole::output);
  CHECK(call.buffers[1].dtype == DType::float64);
  CHECK(call.buffers[1].shape == std::vector<std::int64_t>{3});
  CHECK(call.sizes == std::vector<std::int64_t>{3, 5});
  const auto inputs = judge::input_buffers(problem, DType::float16, {{"rows", 3}, {"cols", 5}});
  REQUIRE(inputs.size() == 1);
  CHECK(inputs[0].dtype == DType::float16);
}

TEST_CASE("prototypes follow the documented interface", "[judge]") {
  auto problem = problem_of([](const Tensors& in) { return Tensors{in[0], in[0].argmax(-1)}; });
  problem.outputs = {"out", "where"};
  problem.dtypes = {DType::float16, DType::float32};
  CHECK_THAT(
      judge::prototypes(problem),
      ContainsSubstring("extern \"C\" void run_float16(const _Float16* x, _Float16* out, "
                        "std::int64_t* where, std::int64_t rows, std::int64_t cols);") &&
          ContainsSubstring("void run_float32(const float* x, float* out, std::int64_t* where,"));
}

TEST_CASE("what C++ has for itself gets an underscore in prototypes", "[judge]") {
  auto problem = problem_of([](const Tensors& in) { return Tensors{in[0], in[0] * 2}; });
  problem.inputs[0].name = "do";
  problem.outputs = {"std", "do_"};
  problem.dtypes = {DType::float32};
  problem.check();
  CHECK_THAT(judge::prototypes(problem),
             ContainsSubstring("(const float* do__, float* std_, float* do_, std::int64_t rows,"));
}

TEST_CASE("a sum of very many terms makes no more room than one of four thousand", "[judge]") {
  const auto problem =
      problem_of([](const Tensors& in) { return Tensors{in[0].matmul(in[0].t())}; });
  const auto one =
      judge::realise(problem, {0, DType::float32, {{"rows", 3}, {"cols", 700}}, "normal", 1});
  CHECK(judge::longest_sum(problem, one, 1, 1) == 700);
  CHECK(judge::longest_sum(problem, one, 2000, 1) == 2000);
  CHECK(judge::longest_sum(problem, one, std::int64_t{1} << 24, 1) == 4096);
}
