#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "catch.hpp"
#include "judge_pools.hpp"

using namespace ouroboros;
using ouroboros_test::refused_by;
using ouroboros_test::seeds;

namespace {

/// Of a causal attention of one head: its queries, keys, values, and the gradient of its result.
Problem of_attention(Reference reference, DType dtype) {
  Problem problem;
  problem.name = "attention_backward";
  problem.axes = {{"length", 1, 48}};
  problem.inputs.resize(4);
  const char* const names[] = {"q", "k", "v", "g"};
  for (std::size_t i = 0; i < 4; ++i) {
    problem.inputs[i].name = names[i];
    problem.inputs[i].shape = {{1, "length"}, {16, ""}};
  }
  problem.outputs = {"dq", "dk", "dv"};
  problem.dtypes = {dtype};
  problem.timed = {{{"length", 32}}};
  problem.reference = std::move(reference);
  return problem;
}

at::Tensor scores_of(const at::Tensor& q, const at::Tensor& k) {
  const auto future = at::ones({q.size(0), q.size(0)}, at::kBool).triu(1);
  return at::matmul(q, k.t()).mul(0.25).masked_fill(future, -INFINITY);
}

Tensors by_autograd(const Tensors& in) {
  const at::AutoGradMode on(true);
  Tensors leaves;
  for (std::size_t i = 0; i < 3; ++i) leaves.push_back(in[i].detach().requires_grad_());
  const auto made = at::matmul(at::softmax(scores_of(leaves[0], leaves[1]), -1), leaves[2]);
  return torch::autograd::grad({made}, leaves, {in[3]});
}

Tensors written_out(const Tensors& in) {
  const auto p = at::softmax(scores_of(in[0], in[1]), -1);
  const auto dp = at::matmul(in[3], in[2].t());
  const auto ds = p * (dp - (p * dp).sum(-1, true)) * 0.25;
  return {at::matmul(ds, in[1]), at::matmul(ds.t(), in[0]), at::matmul(p.t(), in[3])};
}

/// As FlashAttention has it, in float32: probabilities by the logarithms of their sums, and the sum
/// of each row as that of its result times its gradient. `results`: what those are rounded to.
/// `off`: what the sums are off by.
Tensors flash(const Tensors& in, at::ScalarType results, double off) {
  const auto dtype = in[0].scalar_type();
  const auto wide = [](const at::Tensor& x) { return x.to(at::kFloat); };
  const auto scores = scores_of(wide(in[0]), wide(in[1]));
  const auto p = (scores - at::logsumexp(scores, {-1}, true)).exp();
  const auto made = wide(at::matmul(p, wide(in[2])).to(results));
  const auto sums = (made * wide(in[3])).sum(-1, true) * (1.0 + off);
  const auto ds = p * (at::matmul(wide(in[3]), wide(in[2]).t()) - sums) * 0.25;
  return {at::matmul(ds, wide(in[1])).to(dtype), at::matmul(ds.t(), wide(in[0])).to(dtype),
          at::matmul(p.t(), wide(in[3])).to(dtype)};
}

}  // namespace

TEST_CASE("attention's backward pass may add up other dot products", "[judge]") {
  const auto honest = [](const Tensors& in) { return flash(in, at::kFloat, 0.0); };
  const auto wrong = [](const Tensors& in) { return flash(in, at::kFloat, 1e-4); };
  for (const auto& reference : {by_autograd, written_out}) {
    const auto problem = of_attention(reference, DType::float32);
    const auto count = refused_by(problem, DType::float32, {honest, wrong});
    CHECK(count == std::vector{std::uint64_t{0}, seeds});
  }
}

TEST_CASE("so it may in 16 bits, and of results that were rounded", "[judge]") {
  const auto honest = [](const Tensors& in) { return flash(in, at::kFloat, 0.0); };
  const auto wrong = [](const Tensors& in) { return flash(in, at::kFloat, 0.125); };
  for (const auto dtype : {DType::float16, DType::bfloat16}) {
    const auto problem = of_attention(by_autograd, dtype);
    const auto kept = [&](const Tensors& in) { return flash(in, in[0].scalar_type(), 0.0); };
    const auto count = refused_by(problem, dtype, {honest, kept, wrong});
    CHECK(count == std::vector{std::uint64_t{0}, std::uint64_t{0}, seeds});
  }
}
