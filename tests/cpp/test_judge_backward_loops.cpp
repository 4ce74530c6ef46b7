#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv1d.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv_transpose2d.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "judge/judge.hpp"
#include "judge/orders/walk.hpp"
#include "judge/runs/inside.hpp"
#include "judge/runs/promote.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;
using ouroboros_test::problem_of;

namespace {

using Forward = std::function<at::Tensor(const Tensors&)>;

at::Tensor waves(const std::vector<std::int64_t>& shape, double frequency = 1.0) {
  std::int64_t count = 1;
  for (const auto extent : shape) count *= extent;
  return at::sin(at::arange(count, at::kDouble) * frequency + 0.3).view(shape);
}

/// The gradients of all that `forward` is given, by autograd's own operators.
Reference backward(const Forward& forward) {
  return [forward](const Tensors& in) {
    const at::AutoGradMode enabled(true);
    Tensors leaves;
    for (const auto& one : in) leaves.push_back(one.detach().requires_grad_());
    const auto made = forward(leaves);
    const auto weights = at::arange(made.numel(), made.options()).mul(0.7).sin().view(made.sizes());
    return torch::autograd::grad({made}, leaves, {weights});
  };
}

}  // namespace

TEST_CASE("gradients are added up in other orders", "[judge]") {
  const struct {
    std::string name;
    Forward forward;
    Tensors inputs;
  } operators[] = {
      {"layer_norm",
       [](const Tensors& in) { return at::layer_norm(in[0], {5, 7}, in[1], in[2]); },
       {waves({3, 4, 5, 7}), waves({5, 7}, 0.4), waves({5, 7}, 0.2)}},
      {"layer_norm without a weight",
       [](const Tensors& in) { return at::layer_norm(in[0], {9}); },
       {waves({3, 4, 9})}},
      {"group_norm",
       [](const Tensors& in) { return at::group_norm(in[0], 3, in[1], in[2]); },
       {waves({2, 6, 5, 7}), waves({6}, 0.4), waves({6}, 0.2)}},
      {"batch_norm",
       [](const Tensors& in) {
         return at::batch_norm(in[0], in[1], in[2], {}, {}, true, 0.1, 1e-5, false);
       },
       {waves({4, 6, 5}), waves({6}, 0.4), waves({6}, 0.2)}},
      {"softmax", [](const Tensors& in) { return at::softmax(in[0], 1); }, {waves({4, 6, 5})}},
      {"log_softmax",
       [](const Tensors& in) { return at::log_softmax(in[0], -1); },
       {waves({4, 6, 5})}},
      {"norm",
       [](const Tensors& in) { return in[0] / in[0].norm(2, {1}, true); },
       {waves({4, 6, 5})}},
      {"variance",
       [](const Tensors& in) {
         return (in[0] - in[0].mean(-1, true)) * at::rsqrt(in[0].var(-1, false).unsqueeze(-1));
       },
       {waves({4, 6, 5})}},
      {"logsumexp",
       [](const Tensors& in) { return in[0] - in[0].logsumexp({2}, true); },
       {waves({4, 6, 5})}},
      {"linear",
       [](const Tensors& in) { return at::linear(in[0], in[1], in[2]).relu(); },
       {waves({4, 6, 5}), waves({7, 5}, 0.4), waves({7}, 0.2)}},
      {"convolution",
       [](const Tensors& in) { return at::conv2d(in[0], in[1], in[2], {2, 3}, {1, 2}, {1, 2}, 2); },
       {waves({3, 6, 9, 11}), waves({4, 3, 3, 2}, 0.4), waves({4}, 0.2)}},
      {"convolution of each channel",
       [](const Tensors& in) { return at::conv1d(in[0], in[1], {}, 1, 3, 1, 6); },
       {waves({3, 6, 9}), waves({6, 1, 4}, 0.4)}},
      {"transposed convolution",
       [](const Tensors& in) {
         return at::conv_transpose2d(in[0], in[1], in[2], {2, 3}, {1, 0}, {1, 2}, 2, {2, 1});
       },
       {waves({3, 4, 5, 6}), waves({4, 3, 3, 2}, 0.4), waves({6}, 0.2)}},
  };
  for (const auto& one : operators) {
    INFO(one.name);
    const auto reference = backward(one.forward);
    const auto expected = judge::promoted(reference, one.inputs);
    std::vector<Tensors> singles;
    for (int order = 0; order < judge::orders; ++order) {
      INFO("order " << order);
      judge::Loops loops{order};
      judge::Inside inside;
      inside.loops = &loops;
      const auto made = judge::promoted(reference, one.inputs, at::kDouble, inside);
      CHECK(loops.any);
      CHECK(loops.all);
      REQUIRE(made.size() == expected.size());
      for (std::size_t i = 0; i < made.size(); ++i) {
        REQUIRE(made[i].sizes() == expected[i].sizes());
        CHECK(at::allclose(made[i], expected[i], 1e-10, 1e-12));
      }
      Tensors narrow;
      for (const auto& input : one.inputs) narrow.push_back(input.to(at::kFloat));
      singles.push_back(judge::promoted(reference, narrow, at::kFloat, inside));
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      INFO("gradient " << i);
      CHECK(std::any_of(singles.begin(), singles.end(),
                        [&](const auto& other) { return !other[i].equal(singles[0][i]); }));
    }
  }
}

TEST_CASE("gradients may be differentiated", "[judge]") {
  // As a penalty on a gradient's size is, which asks for nothing of the weight.
  const Reference penalty = [](const Tensors& in) {
    const at::AutoGradMode enabled(true);
    const auto x = in[0].detach().requires_grad_();
    const auto made = at::layer_norm(at::conv1d(x, in[1], {}, 1, 1), {9}).exp().sum();
    const auto gradient = torch::autograd::grad({made}, {x}, {}, std::nullopt, true).front();
    return torch::autograd::grad({gradient.square().sum()}, {x});
  };
  const Tensors inputs{waves({3, 4, 9}), waves({4, 4, 3}, 0.4)};
  const auto expected = judge::promoted(penalty, inputs).front();
  for (int order = 0; order < judge::orders; ++order) {
    judge::Loops loops{order};
    judge::Inside inside;
    inside.loops = &loops;
    const auto made = judge::promoted(penalty, inputs, at::kDouble, inside).front();
    CHECK(loops.any);
    CHECK(at::allclose(made, expected, 1e-9, 1e-11));
  }
}

TEST_CASE("the mean of equal numbers is one of them but for a rounding", "[judge]") {
  constexpr double eps = 1e-5;
  constexpr auto weights_of = [](const at::Tensor& x) {
    return at::arange(x.numel(), x.options()).mul(0.7).sin().view(x.sizes());
  };
  // Where all numbers of a channel are the same, its weight has no gradient.
  auto problem = problem_of([&](const Tensors& in) {
    const at::AutoGradMode enabled(true);
    const auto weight = at::ones_like(in[0][0]).requires_grad_();
    const auto made = at::batch_norm(in[0], weight, {}, {}, {}, true, 0.1, eps, false);
    return torch::autograd::grad({made}, {weight}, {weights_of(in[0])});
  });
  problem.axes[0].minimum = 2;
  // With its sums one after the other.
  const auto by_hand = [&](const at::Tensor& x) {
    const auto sum_of = [](const at::Tensor& terms) {
      auto sum = terms[0].clone();
      for (std::int64_t row = 1; row < terms.size(0); ++row) sum.add_(terms[row]);
      return sum;
    };
    const auto count = static_cast<float>(x.size(0));
    const auto away = x - sum_of(x) / count;
    const auto reciprocal = at::rsqrt(sum_of(away.square()) / count + eps);
    return sum_of(weights_of(x) * away * reciprocal);
  };
  for (const char* family : {"normal", "equal", "common_mean", "patchwork"}) {
    for (std::uint64_t seed = 1; seed < 9; ++seed) {
      INFO(family << ", seed " << seed);
      const judge::CaseSpec spec{0,      DType::float32, {{"rows", 100}, {"cols", 37}},
                                 family, seed,           "rows"};
      const auto one = judge::realise(problem, spec);
      const auto made = by_hand(one.inputs[0]);
      CHECK(judge::compare(problem, one, {made}).status == "passed");
      CHECK(judge::compare(problem, one, {made + 1.0F}).status == "failed");
    }
  }
}
