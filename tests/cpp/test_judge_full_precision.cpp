#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv_transpose2d.h>
#include <ATen/ops/ones.h>
#include <ATen/record_function.h>

#include <memory>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "judge/judge.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;

namespace {

/// Whether each convolution on this thread was allowed TF32, while it lives.
class Convolutions {
 public:
  Convolutions() : handle_(at::addThreadLocalCallback(watch())) { allowed.clear(); }
  ~Convolutions() { at::removeCallback(handle_); }
  Convolutions(const Convolutions&) = delete;
  Convolutions& operator=(const Convolutions&) = delete;

  static thread_local std::vector<bool> allowed;

 private:
  static at::RecordFunctionCallback watch() {
    const auto note = [](const at::RecordFunction& seen) -> std::unique_ptr<at::ObserverContext> {
      constexpr std::size_t allow_tf32 = 12;  // Of `_convolution`'s arguments.
      if (std::string_view(seen.name()) == "aten::_convolution") {
        allowed.push_back(seen.inputs()[allow_tf32].toBool());
      }
      return nullptr;
    };
    return at::RecordFunctionCallback(note).needsInputs(true).scopes({at::RecordScope::FUNCTION});
  }

  at::CallbackHandle handle_;
};

thread_local std::vector<bool> Convolutions::allowed;

Problem convolution() {
  auto problem = ouroboros_test::problem_of([](const Tensors& in) {
    const auto image = in[0].view({1, 1, 1, -1});
    const auto filter = in[0].slice(0, 0, 3).view({1, 1, 1, 3});
    return Tensors{at::conv_transpose2d(at::conv2d(image, filter), filter).view({-1})};
  });
  problem.axes = {Axis{"n", {}, 3}};
  problem.inputs.resize(1);
  problem.inputs[0].shape = {{1, "n"}};
  return problem;
}

}  // namespace

TEST_CASE("convolutions of a reference are never in TF32, whatever the process allows", "[judge]") {
  const judge::CaseSpec spec{0, DType::float32, {{"n", 20}}, "uniform", 1};
  const auto before = at::conv2d(at::ones({1, 1, 1, 9}), at::ones({1, 1, 1, 3}));
  {
    const Convolutions seen;
    const auto one = judge::realise(convolution(), spec);
    const auto again = judge::realise_again(convolution(), one, 2);
    CHECK(Convolutions::allowed.size() > 4);
    for (const bool allowed : Convolutions::allowed) CHECK_FALSE(allowed);
    CHECK(judge::compare(convolution(), again, again.reference).status == "passed");
  }
  // The user's own are as they were: allowed, as LibTorch comes.
  const Convolutions seen;
  const auto after = at::conv2d(at::ones({1, 1, 1, 9}), at::ones({1, 1, 1, 3}));
  CHECK(after.equal(before));
  REQUIRE(Convolutions::allowed.size() == 1);
  CHECK(Convolutions::allowed[0]);
}
