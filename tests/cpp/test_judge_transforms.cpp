#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/fft_fft.h>
#include <ATen/ops/fft_fft2.h>
#include <ATen/ops/fft_hfft.h>
#include <ATen/ops/fft_ifft.h>
#include <ATen/ops/fft_ifft2.h>
#include <ATen/ops/fft_irfft.h>
#include <ATen/ops/fft_irfft2.h>
#include <ATen/ops/fft_rfft.h>
#include <ATen/ops/fft_rfft2.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <numbers>

#include "catch.hpp"
#include "judge/judge.hpp"
#include "judge/orders/walk.hpp"
#include "judge/runs/inside.hpp"
#include "judge/runs/promote.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;
using ouroboros_test::problem_of;

namespace {

/// A Fourier transform as a kernel for short rows makes it, all in float32.
at::Tensor by_table(const at::Tensor& x, bool reduces_angles = true) {
  const auto n = x.size(-1);
  auto turns = at::arange(n).unsqueeze(0).mul(at::arange(n).unsqueeze(1));
  if (reduces_angles) turns = turns.remainder(n);
  const auto angles =
      turns.to(at::kFloat) * (2 * std::numbers::pi_v<float> / static_cast<float>(n));
  return at::stack({x.matmul(angles.cos()), x.matmul(-angles.sin())}, -1);
}

Problem transform() {
  auto problem =
      problem_of([](const Tensors& in) { return Tensors{at::view_as_real(at::fft_fft(in[0]))}; });
  problem.axes[0].minimum = 1;  // No library transforms nothing.
  return problem;
}

}  // namespace

TEST_CASE("Fourier transforms are products with a table", "[judge]") {
  const auto x = at::sin(at::arange(2 * 6 * 9, at::kDouble) * 1.3 + 0.3).view({2, 6, 9});
  const auto z = at::complex(x, x.flip(-1) * 0.7);
  const auto real = [](const at::Tensor& made) { return Tensors{at::view_as_real(made)}; };
  const struct {
    const char* name;
    Reference made;
  } operators[] = {
      {"fft", [&](const Tensors& in) { return real(at::fft_fft(in[0])); }},
      {"fft of complex numbers",
       [&](const Tensors& in) { return real(at::fft_fft(in[1], {}, 1, "ortho")); }},
      {"fft of conjugates", [&](const Tensors& in) { return real(at::fft_fft(in[1].conj())); }},
      {"fft that is cut off", [&](const Tensors& in) { return real(at::fft_fft(in[1], 5)); }},
      {"ifft", [&](const Tensors& in) { return real(at::fft_ifft(in[1])); }},
      {"fft2", [&](const Tensors& in) { return real(at::fft_fft2(in[0])); }},
      {"ifft2", [&](const Tensors& in) { return real(at::fft_ifft2(in[1], {}, {0, 2})); }},
      {"rfft", [&](const Tensors& in) { return real(at::fft_rfft(in[0])); }},
      {"rfft of even rows", [&](const Tensors& in) { return real(at::fft_rfft(in[0], {}, 1)); }},
      {"rfft2", [&](const Tensors& in) { return real(at::fft_rfft2(in[0])); }},
      {"irfft", [](const Tensors& in) { return Tensors{at::fft_irfft(in[1])}; }},
      {"irfft of odd rows", [](const Tensors& in) { return Tensors{at::fft_irfft(in[1], 17)}; }},
      {"irfft2",
       [](const Tensors& in) { return Tensors{at::fft_irfft2(in[1], {}, {1, 2}, "forward")}; }},
      {"hfft", [](const Tensors& in) { return Tensors{at::fft_hfft(in[1])}; }},
  };
  for (const auto& one : operators) {
    const auto expected = judge::promoted(one.made, {x, z}).front();
    for (int order = 0; order < judge::orders; ++order) {
      INFO(one.name << ", order " << order);
      judge::Loops loops{order};
      judge::Inside inside;
      inside.loops = &loops;
      const auto made = judge::promoted(one.made, {x, z}, at::kDouble, inside).front();
      CHECK(loops.any);
      CHECK(loops.all);
      REQUIRE(made.sizes() == expected.sizes());
      CHECK(at::allclose(made, expected, 1e-11, 1e-13));
    }
  }
}

TEST_CASE("a transform by a table is honest where a fast one makes zeros", "[judge]") {
  const auto problem = transform();
  int judged = 0;
  int refused = 0;
  for (const auto& spec : judge::derive_cases(problem, {DType::float32}, 51001)) {
    if (spec.axes.at("cols") > 256) continue;
    const auto one = judge::realise(problem, spec);
    INFO(spec.family << ", " << one.inputs[0].sizes());
    CHECK(judge::compare(problem, one, {by_table(one.inputs[0])}).status == "passed");
    ++judged;
    // Float32 has not the digits of angles of a thousand turns.
    const auto made = by_table(one.inputs[0], /*reduces_angles=*/false);
    refused += judge::compare(problem, one, {made}).status == "failed" ? 1 : 0;
  }
  CHECK(judged > 10);
  CHECK(refused > judged / 2);
}

TEST_CASE("a transform without its smallest terms is found out", "[judge]") {
  const auto problem = transform();
  const auto specs = judge::derive_cases(problem, {DType::float32}, 51004);
  const bool found = std::any_of(specs.begin(), specs.end(), [&](const judge::CaseSpec& spec) {
    if (spec.axes.at("cols") > 256) return false;
    const auto one = judge::realise(problem, spec);
    const auto& truth = one.oracle[0];
    const auto largest = truth.abs().amax({-2, -1}, true);
    const auto made = at::where(truth.abs().gt(largest * 1e-4), truth, 0.0).to(at::kFloat);
    return judge::compare(problem, one, {made}).status == "failed";
  });
  CHECK(found);
}
