#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_native_multi_head_attention.h>
#include <ATen/ops/_transformer_encoder_layer_fwd.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "judge/orders/attention.hpp"
#include "judge_pools.hpp"

using namespace ouroboros;
using ouroboros_test::refused_by;
using ouroboros_test::seeds;

namespace {

constexpr std::int64_t width = 32;
constexpr std::int64_t heads = 2;

Input parameter(const char* name, std::vector<Dim> shape) {
  Input one;
  one.name = name;
  one.shape = std::move(shape);
  one.parameter = true;
  return one;
}

/// `nn.MultiheadAttention` of one sequence, as its eval mode computes it.
Problem of_module(DType dtype) {
  Problem problem;
  problem.name = "multihead_attention";
  problem.axes = {{"length", 1, 32}};
  Input x;
  x.name = "x";
  x.shape = {{1, ""}, {1, "length"}, {width, ""}};
  problem.inputs = {
      x, parameter("w_in", {{3 * width, ""}, {width, ""}}), parameter("b_in", {{3 * width, ""}}),
      parameter("w_out", {{width, ""}, {width, ""}}), parameter("b_out", {{width, ""}})};
  problem.outputs = {"y"};
  problem.dtypes = {dtype};
  problem.timed = {{{"length", 32}}};
  problem.reference = [](const Tensors& in) {
    return Tensors{std::get<0>(at::_native_multi_head_attention(in[0], in[0], in[0], width, heads,
                                                                in[1], in[2], in[3], in[4], {},
                                                                /*need_weights=*/false))};
  };
  return problem;
}

/// By three kernels, which leave their results in the inputs' dtype, and keep sums in float32.
/// `temperature`: what all scores are multiplied with.
Tensors by_kernels(const Tensors& in, double temperature) {
  const auto dtype = in[0].scalar_type();
  const auto wide = [](const at::Tensor& x) { return x.to(at::kFloat); };
  const auto length = in[0].size(1);
  const auto projected =
      (at::matmul(wide(in[0]), wide(in[1]).t()) + wide(in[2])).to(dtype).chunk(3, -1);
  const auto split = [&](const at::Tensor& one) {
    return wide(one).reshape({length, heads, width / heads}).transpose(0, 1);
  };
  const auto scores = at::matmul(split(projected[0]), split(projected[1]).transpose(1, 2));
  const auto p = at::softmax(scores * 0.25 * temperature, -1).to(dtype);
  const auto attended = at::matmul(wide(p), split(projected[2])).to(dtype);
  const auto together = wide(attended).transpose(0, 1).reshape({1, length, width});
  return {(at::matmul(together, wide(in[3]).t()) + wide(in[4])).to(dtype)};
}

Tensors by_parts(const std::string& name, const torch::jit::Stack& stack) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(("aten::" + name).c_str(), "");
  REQUIRE(judge::has_attention(name, op.schema(), stack));
  return judge::attention_by_parts(name, op.schema(), stack);
}

at::Tensor drawn(at::IntArrayRef shape) { return at::randn(shape, at::kDouble); }

}  // namespace

TEST_CASE("the attention of a module has a matrix of its own to round", "[judge]") {
  const auto honest = [](const Tensors& in) { return by_kernels(in, 1.0); };
  const auto wrong = [](const Tensors& in) { return by_kernels(in, 0.5); };
  for (const auto dtype : {DType::float16, DType::bfloat16}) {
    const auto count = refused_by(of_module(dtype), dtype, {honest, wrong});
    CHECK(count == std::vector{std::uint64_t{0}, seeds});
  }
}

TEST_CASE("a module's attention is what its parts are", "[judge]") {
  const at::NoGradGuard none;
  const auto x = drawn({2, 5, width});
  const torch::jit::Stack weights = {drawn({3 * width, width}), drawn({3 * width}),
                                     drawn({width, width}), drawn({width})};
  const auto mask = [](at::IntArrayRef shape) {
    auto made = at::rand(shape).lt(0.4);
    made.select(-1, 0).fill_(false);  // Rows of which nothing is left are of NaN.
    return made;
  };
  struct Masked {
    c10::IValue mask;
    c10::IValue type;
  };
  const Masked masks[] = {
      {{}, {}}, {mask({5, 5}), 0}, {mask({2, 5}), 1}, {mask({2, heads, 5, 5}), 2}};
  for (const auto& [left_out, type] : masks) {
    for (const bool averaged : {false, true}) {
      torch::jit::Stack stack = {x, x, x, width, heads};
      stack.insert(stack.end(), weights.begin(), weights.end());
      stack.insert(stack.end(), {left_out, true, averaged, type});
      const auto made = by_parts("_native_multi_head_attention", stack);
      const auto [wanted, scores] = at::_native_multi_head_attention(
          x, x, x, width, heads, stack[5].toTensor(), stack[6].toTensor(), stack[7].toTensor(),
          stack[8].toTensor(), left_out.toOptional<at::Tensor>(), true, averaged,
          type.toOptional<std::int64_t>());
      CHECK(made[0].allclose(wanted, 1e-9, 1e-9));
      CHECK(made[1].allclose(scores, 1e-9, 1e-9));
    }
  }
}

TEST_CASE("a layer of a transformer is what its parts are", "[judge]") {
  const at::NoGradGuard none;
  constexpr std::int64_t inner = 48;
  const auto x = drawn({2, 5, width});
  for (const bool gelu : {false, true}) {
    for (const bool norm_first : {false, true}) {
      const torch::jit::Stack stack = {x,
                                       width,
                                       heads,
                                       drawn({3 * width, width}),
                                       drawn({3 * width}),
                                       drawn({width, width}),
                                       drawn({width}),
                                       gelu,
                                       norm_first,
                                       1e-5,
                                       drawn({width}),
                                       drawn({width}),
                                       drawn({width}),
                                       drawn({width}),
                                       drawn({inner, width}),
                                       drawn({inner}),
                                       drawn({width, inner}),
                                       drawn({width}),
                                       {},
                                       {}};
      const auto t = [&](std::size_t i) { return stack[i].toTensor(); };
      const auto wanted = at::_transformer_encoder_layer_fwd(
          x, width, heads, t(3), t(4), t(5), t(6), gelu, norm_first, 1e-5, t(10), t(11), t(12),
          t(13), t(14), t(15), t(16), t(17));
      const auto made = by_parts("_transformer_encoder_layer_fwd", stack);
      CHECK(made[0].allclose(wanted, 1e-9, 1e-9));
    }
  }
}
