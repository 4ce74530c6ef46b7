#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>

#include <functional>
#include <string>
#include <utility>

#include "catch.hpp"
#include "judge/judge.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;

namespace {

/// How many cases of a seed refuse a candidate, and how many of these say that it cuts off.
struct Refused {
  int in_all = 0;
  int cut_off = 0;
};

/// What `candidate` makes in float32, and rounds itself.
Refused refused(const Problem& problem, DType dtype,
                const std::function<at::Tensor(at::Tensor)>& round) {
  Refused count;
  for (const auto& spec : judge::derive_cases(problem, {dtype}, 5)) {
    const auto one = judge::realise(problem, spec);
    const auto made = at::softmax(one.inputs[0].to(at::kFloat), -1) * 3.0;
    const auto result = judge::compare(problem, one, {round(made).to(scalar_type(dtype))});
    INFO(result.family << ": " << result.message);
    if (result.status == "passed") continue;
    ++count.in_all;
    // A number that float32 has rounded away from zero may be off by more than a unit by itself.
    if (result.message.find("units in the last place too") == std::string::npos) continue;
    CHECK(result.wrong_elements > 300);
    ++count.cut_off;
  }
  return count;
}

/// Numbers without the bits that `dtype` does not have.
at::Tensor without_low_bits(const at::Tensor& numbers, int bits) {
  return (numbers.view(at::kInt).bitwise_right_shift(bits))
      .bitwise_left_shift(bits)
      .view(at::kFloat);
}

}  // namespace

TEST_CASE("results in 16 bits may not all be rounded down either", "[judge]") {
  auto problem = ouroboros_test::problem_of([](const Tensors& in) {
    return Tensors{in[0], (in[0].to(at::kFloat) * 1.7).to(in[0].scalar_type())};
  });
  problem.outputs = {"same", "times"};
  const judge::CaseSpec spec{0, DType::bfloat16, {{"rows", 64}, {"cols", 64}}, "normal", 5};
  const auto one = judge::realise(problem, spec);
  const auto made = one.inputs[0].to(at::kFloat) * 1.7;
  const auto inwards = without_low_bits(made, 16);
  const auto outwards = (inwards.view(at::kInt) + (1 << 16)).view(at::kFloat);
  const auto down = at::where(made.lt(0).logical_and(made.ne(inwards)), outwards, inwards);
  const auto judged = [&](const at::Tensor& times) {
    return judge::compare(problem, one, {one.inputs[0], times.to(at::kBFloat16)});
  };
  CHECK(judged(made).status == "passed");
  for (const auto& [times, words] :
       {std::pair(down, "too low"), std::pair(inwards, "too small in size"),
        std::pair(outwards, "too large in size")}) {
    const auto result = judged(times);
    CHECK(result.status == "failed");
    CHECK(result.output == "times");
    CHECK_THAT(result.message, ContainsSubstring(words));
  }
}

TEST_CASE("results in 16 bits are rounded, not cut off, each by less than a unit", "[judge]") {
  auto problem = ouroboros_test::problem_of([](const Tensors& in) {
    return Tensors{(at::softmax(in[0].to(at::kFloat), -1) * 3.0).to(in[0].scalar_type())};
  });
  problem.dtypes = {DType::float16, DType::bfloat16};
  for (const auto& [dtype, bits] :
       {std::pair(DType::bfloat16, 16), std::pair(DType::float16, 13)}) {
    CAPTURE(to_string(dtype));
    CHECK(refused(problem, dtype, [](const at::Tensor& made) { return made; }).in_all == 0);
    CHECK(refused(problem, dtype, [bits = bits](const at::Tensor& made) {
            return without_low_bits(made, bits);
          }).cut_off > 1);
  }
}
