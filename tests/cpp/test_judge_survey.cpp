// What PyTorch computes, operator by operator: of ordinary numbers a thousandth is seen in all of
// it. Whatever is taken apart, moved or looped in the oracle wrongly shows here as room.

#include <ATen/ATen.h>

#include <cmath>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "judge/judge.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;

namespace {

using at::Tensor;

/// 32 rows of 96 of each kind of values.
struct Given {
  Tensor x;
  Tensor y;
  Tensor bools;
  Tensor lengths;  ///< From none of a row to all of it.
  Tensor bytes;
  Tensor mask;  ///< Zeros and ones in the dtype of the case.

  /// The bools in that dtype.
  [[nodiscard]] Tensor kept() const { return bools.to(x.scalar_type()); }
  [[nodiscard]] Tensor image() const { return x.view({1, 1, 32, 96}); }
  [[nodiscard]] Tensor square() const { return at::ones({32, 32}, x.options()); }
};

Tensor places() { return at::arange(96, at::kLong).unsqueeze(0); }

struct Row {
  const char* name;
  Tensor (*compute)(const Given&);
};

Problem problem_of_row(const Row& row) {
  auto problem = ouroboros_test::problem_of([&row](const Tensors& in) {
    return Tensors{row.compute({in[0], in[1], in[2], in[3], in[4], in[5]}).contiguous()};
  });
  problem.inputs.resize(6, problem.inputs[0]);
  for (const auto& [place, name] :
       {std::pair(1, "y"), std::pair(2, "bools"), std::pair(3, "lengths"), std::pair(4, "bytes"),
        std::pair(5, "mask")}) {
    problem.inputs[static_cast<std::size_t>(place)].name = name;
  }
  problem.inputs[2].dtype = DType::boolean;
  problem.inputs[3].dtype = DType::int32;
  problem.inputs[3].values = Values::length;
  problem.inputs[3].index_axis = "cols";
  problem.inputs[4].dtype = DType::uint8;
  problem.inputs[5].values = Values::mask;
  return problem;
}

void expect_a_thousandth_seen(const std::vector<Row>& rows) {
  for (const auto& row : rows) {
    const auto problem = problem_of_row(row);
    for (const auto& [dtype, off] :
         {std::pair(DType::float32, 1e-3), std::pair(DType::float64, 1e-7)}) {
      const auto one =
          judge::realise(problem, {0, dtype, {{"rows", 32}, {"cols", 96}}, "normal", 7});
      const auto wrong = (one.oracle[0] * (1.0 + off)).to(one.reference[0].scalar_type());
      INFO(row.name << ", " << to_string(dtype));
      CHECK(judge::compare(problem, one, {one.reference[0]}).status == "passed");
      CHECK(judge::compare(problem, one, {wrong}).status == "failed");
    }
  }
}

}  // namespace

TEST_CASE("a thousandth is seen of attention, of all kinds of masks", "[judge]") {
  expect_a_thousandth_seen({
      {"sdpa",
       [](const Given& g) {
         return at::scaled_dot_product_attention(g.x.unsqueeze(0), g.y.unsqueeze(0),
                                                 g.x.unsqueeze(0));
       }},
      {"sdpa, causal",
       [](const Given& g) {
         return at::scaled_dot_product_attention(g.x.unsqueeze(0), g.y.unsqueeze(0),
                                                 g.x.unsqueeze(0), {}, 0.0, true);
       }},
      {"sdpa, bools",
       [](const Given& g) {
         return at::scaled_dot_product_attention(g.x.unsqueeze(0), g.y.unsqueeze(0),
                                                 g.x.unsqueeze(0), g.square().tril().gt(0));
       }},
      {"sdpa, numbers",
       [](const Given& g) {
         return at::scaled_dot_product_attention(g.x.unsqueeze(0), g.y.unsqueeze(0),
                                                 g.x.unsqueeze(0), g.x.matmul(g.y.t()));
       }},
      {"sdpa, -1e9",
       [](const Given& g) {
         return at::scaled_dot_product_attention(g.x.unsqueeze(0), g.y.unsqueeze(0),
                                                 g.x.unsqueeze(0), g.square().triu(1) * -1e9);
       }},
      {"sdpa, scaled",
       [](const Given& g) {
         return at::scaled_dot_product_attention(g.x.unsqueeze(0), g.y.unsqueeze(0),
                                                 g.x.unsqueeze(0), {}, 0.0, false, 0.1);
       }},
      {"by hand",
       [](const Given& g) {
         return (g.x.matmul(g.y.t()) + (g.square() * -1e9).triu(1)).softmax(1).matmul(g.x);
       }},
      {"linear, causal", [](const Given& g) { return g.x.matmul(g.y.t()).tril().matmul(g.x); }},
      {"alibi",
       [](const Given& g) {
         return (g.x + (places() - g.lengths.narrow(1, 0, 1)).to(g.x.scalar_type()) * 0.0625)
             .softmax(1);
       }},
  });
}

TEST_CASE("a thousandth is seen of what is masked", "[judge]") {
  expect_a_thousandth_seen({
      {"fill -1e9",
       [](const Given& g) { return g.x.masked_fill(g.bools.logical_not(), -1e9).softmax(1); }},
      {"fill -inf",
       [](const Given& g) { return g.x.masked_fill(g.bools.logical_not(), -INFINITY).softmax(1); }},
      {"fill, log_softmax",
       [](const Given& g) { return g.x.masked_fill(g.bools.logical_not(), -1e9).log_softmax(1); }},
      {"fill, logsumexp",
       [](const Given& g) {
         return g.x.masked_fill(g.bools.logical_not(), -INFINITY).logsumexp(1);
       }},
      {"add -1e9", [](const Given& g) { return (g.x + (1 - g.kept()) * -1e9).softmax(1); }},
      {"add -1e4", [](const Given& g) { return (g.x + (1 - g.kept()) * -1e4).softmax(1); }},
      {"add, a mask", [](const Given& g) { return (g.x + (1 - g.mask) * -1e9).softmax(1); }},
      {"subtract 1e9", [](const Given& g) { return (g.x - (1 - g.kept()) * 1e9).softmax(1); }},
      {"add, logsumexp", [](const Given& g) { return (g.x + (1 - g.kept()) * -1e9).logsumexp(1); }},
      {"blend, -1e9",
       [](const Given& g) { return (g.kept() * g.x + (1 - g.kept()) * -1e9).softmax(1); }},
      {"blend, x - 1e9",
       [](const Given& g) { return (g.kept() * g.x + (1 - g.kept()) * (g.x - 1e9)).softmax(1); }},
      {"lerp, x - 1e9", [](const Given& g) { return at::lerp(g.x - 1e9, g.x, g.mask).softmax(1); }},
      {"where, -1e8",
       [](const Given& g) { return at::where(g.bools, g.x, at::full_like(g.x, -1e8)).softmax(1); }},
      {"where, x - 1e9",
       [](const Given& g) { return at::where(g.bools, g.x, g.x - 1e9).softmax(1); }},
      {"logarithm", [](const Given& g) { return (g.x + (g.mask + 1e-13).log()).softmax(1); }},
      {"exponentials",
       [](const Given& g) {
         return (g.x.exp() * g.kept()) / ((g.x.exp() * g.kept()).sum(1, true) + 1e-9);
       }},
      {"maximum", [](const Given& g) { return (g.x + (g.kept() - 1) * 1e9).amax(1); }},
      {"minimum", [](const Given& g) { return (g.x * g.mask + (1 - g.mask) * 1e6).amin(1); }},
      {"mean",
       [](const Given& g) { return (g.x * g.kept()).sum(1) / g.kept().sum(1).clamp_min(1); }},
      {"variance",
       [](const Given& g) {
         return ((g.x - (g.x * g.mask).sum(1, true) / g.mask.sum(1, true).clamp_min(1)).square() *
                 g.mask)
             .sum(1);
       }},
      {"lengths, softmax",
       [](const Given& g) {
         return g.x.masked_fill(places().ge(g.lengths.narrow(1, 0, 1)), -INFINITY).softmax(1);
       }},
      {"lengths, mean",
       [](const Given& g) {
         return g.x.masked_fill(places().ge(g.lengths.narrow(1, 0, 1)), 0).sum(1) /
                g.lengths.select(1, 0).clamp_min(1);
       }},
      {"cross entropy",
       [](const Given& g) {
         return (at::cross_entropy_loss(g.x, g.y.argmax(1), {}, 0) * g.kept().select(1, 0)).sum();
       }},
      {"contrastive",
       [](const Given& g) {
         return g.kept() * g.x.square() + (1 - g.kept()) * (1 - g.x.abs()).clamp_min(0).square();
       }},
      {"selected",
       [](const Given& g) { return g.kept() * g.x.tanh() + (1 - g.kept()) * g.y.exp(); }},
      {"hard negatives",
       [](const Given& g) {
         return ((g.x - g.y).abs() * g.kept() + (1 - g.kept()) * ((g.x - g.y).abs() + 1e6)).amin(1);
       }},
  });
}

TEST_CASE("a thousandth is seen of gates, tables and small integers", "[judge]") {
  expect_a_thousandth_seen({
      {"gru",
       [](const Given& g) { return (1 - g.x.sigmoid()) * g.y.tanh() + g.x.sigmoid() * g.mask; }},
      {"highway", [](const Given& g) { return g.x.sigmoid() * g.y + g.x * (1 - g.x.sigmoid()); }},
      {"lerp", [](const Given& g) { return at::lerp(g.x, g.y, g.x.sigmoid()); }},
      {"lerp, constant", [](const Given& g) { return at::lerp(g.x, g.y, 0.3); }},
      {"glu", [](const Given& g) { return at::glu(g.x, 0); }},
      {"rope",
       [](const Given& g) {
         return g.x * g.y.cos() +
                at::cat({-g.x.narrow(1, 48, 48), g.x.narrow(1, 0, 48)}, 1) * g.y.sin();
       }},
      {"experts",
       [](const Given& g) {
         return g.x.softmax(1) / std::get<0>(g.x.softmax(1).topk(2, 1)).sum(1, true);
       }},
      {"constant zero point",
       [](const Given& g) { return (g.bytes.to(at::kInt) - 128).to(g.x.scalar_type()) * g.y; }},
      {"zero point",
       [](const Given& g) {
         return (g.bytes.to(at::kInt) - g.bytes.narrow(1, 0, 1).to(at::kInt))
                    .to(g.x.scalar_type()) *
                g.y;
       }},
      {"scaled weights",
       [](const Given& g) {
         return g.x.matmul(((g.bytes.to(g.x.scalar_type()) - 128) * 0.02).t());
       }},
      {"scatter_add",
       [](const Given& g) {
         return at::zeros_like(g.x).scatter_add(1, g.lengths.to(at::kLong).clamp_max(95), g.x);
       }},
      {"scatter_reduce",
       [](const Given& g) {
         return at::zeros_like(g.x).scatter_reduce(1, g.lengths.to(at::kLong).clamp_max(95), g.x,
                                                   "mean");
       }},
      {"gather",
       [](const Given& g) { return g.x.gather(1, g.lengths.to(at::kLong).clamp_max(95)); }},
      {"index_add",
       [](const Given& g) {
         return at::zeros_like(g.x).index_add(0, g.lengths.select(1, 0).to(at::kLong).clamp_max(31),
                                              g.x);
       }},
      {"one hot",
       [](const Given& g) {
         return (g.bytes.to(at::kLong).eq(places()).to(g.x.scalar_type()) * g.x).sum(1);
       }},
      {"counts", [](const Given& g) { return g.kept().cumsum(1) * g.x; }},
  });
}

TEST_CASE("a thousandth is seen of reductions, scans and orders", "[judge]") {
  expect_a_thousandth_seen({
      {"var", [](const Given& g) { return g.x.var(1); }},
      {"std", [](const Given& g) { return g.x.std(1); }},
      {"median", [](const Given& g) { return std::get<0>(g.x.median(1)); }},
      {"kthvalue", [](const Given& g) { return std::get<0>(g.x.kthvalue(3, 1)); }},
      {"quantile", [](const Given& g) { return at::quantile(g.x, 0.3, 1); }},
      {"norm", [](const Given& g) { return at::norm(g.x, 2, 1); }},
      {"vector_norm", [](const Given& g) { return at::linalg_vector_norm(g.x, 3.0); }},
      {"logsumexp", [](const Given& g) { return at::logsumexp(g.x, 1); }},
      {"cumsum", [](const Given& g) { return g.x.cumsum(1); }},
      {"logcumsumexp", [](const Given& g) { return at::logcumsumexp(g.x, 1); }},
      {"cummax", [](const Given& g) { return std::get<0>(at::cummax(g.x, 1)); }},
      {"prod", [](const Given& g) { return (g.x * 0.1 + 1).prod(1); }},
      {"sort", [](const Given& g) { return std::get<0>(g.x.sort(1)); }},
      {"topk", [](const Given& g) { return std::get<0>(g.x.topk(5, 1)); }},
      {"trapezoid", [](const Given& g) { return at::trapezoid(g.x, 1.0, 1); }},
      {"cov", [](const Given& g) { return at::cov(g.x); }},
      {"corrcoef", [](const Given& g) { return at::corrcoef(g.x); }},
      {"renorm", [](const Given& g) { return at::renorm(g.x, 2, 0, 1); }},
  });
}

TEST_CASE("a thousandth is seen of normalisations and losses", "[judge]") {
  expect_a_thousandth_seen({
      {"softmax", [](const Given& g) { return g.x.softmax(0); }},
      {"log_softmax", [](const Given& g) { return g.x.log_softmax(1); }},
      {"layer_norm", [](const Given& g) { return at::layer_norm(g.x, {96}); }},
      {"group_norm", [](const Given& g) { return at::group_norm(g.x, 4); }},
      {"instance_norm",
       [](const Given& g) {
         return at::instance_norm(g.x.view({32, 4, 24}), {}, {}, {}, {}, true, 0.1, 1e-5, false);
       }},
      {"batch_norm",
       [](const Given& g) { return at::batch_norm(g.x, {}, {}, {}, {}, true, 0.1, 1e-5, false); }},
      {"batch_norm, inference",
       [](const Given& g) {
         return at::batch_norm(g.x, {}, {}, g.y.mean(0), g.y.var(0), false, 0.1, 1e-5, false);
       }},
      {"rms_norm", [](const Given& g) { return at::rms_norm(g.x, {96}); }},
      {"mse", [](const Given& g) { return at::mse_loss(g.x, g.y); }},
      {"l1", [](const Given& g) { return at::l1_loss(g.x, g.y); }},
      {"huber", [](const Given& g) { return at::huber_loss(g.x, g.y); }},
      {"smooth l1", [](const Given& g) { return at::smooth_l1_loss(g.x, g.y); }},
      {"kl_div", [](const Given& g) { return at::kl_div(g.x.log_softmax(1), g.y.softmax(1)); }},
      {"kl_div, logarithms",
       [](const Given& g) {
         return at::kl_div(g.x.log_softmax(1), g.y.log_softmax(1), at::Reduction::Sum, true);
       }},
      {"bce",
       [](const Given& g) { return at::binary_cross_entropy(g.x.sigmoid(), g.y.sigmoid()); }},
      {"bce, logits",
       [](const Given& g) { return at::binary_cross_entropy_with_logits(g.x, g.y.sigmoid()); }},
      {"poisson",
       [](const Given& g) {
         return at::poisson_nll_loss(g.x, g.y.exp(), true, false, 1e-8, at::Reduction::Mean);
       }},
      {"soft margin", [](const Given& g) { return at::soft_margin_loss(g.x, g.y.sign()); }},
      {"hinge", [](const Given& g) { return at::hinge_embedding_loss(g.x, g.y.sign()); }},
      {"cosine loss",
       [](const Given& g) {
         return at::cosine_embedding_loss(g.x, g.y, at::ones({32}, g.x.options()));
       }},
      {"triplet", [](const Given& g) { return at::triplet_margin_loss(g.x, g.y, g.x.roll(1, 0)); }},
      {"cross entropy", [](const Given& g) { return at::cross_entropy_loss(g.x, g.y.softmax(1)); }},
      {"label smoothing",
       [](const Given& g) { return at::cross_entropy_loss(g.x, g.y.argmax(1), {}, 1, -100, 0.1); }},
      {"nll", [](const Given& g) { return at::nll_loss(g.x.log_softmax(1), g.y.argmax(1)); }},
      {"multi margin", [](const Given& g) { return at::multi_margin_loss(g.x, g.y.argmax(1)); }},
      {"focal",
       [](const Given& g) {
         return ((1 - g.x.sigmoid()).pow(2) * -g.x.sigmoid().log() * g.kept()).sum(1);
       }},
      {"dice",
       [](const Given& g) {
         return 1 - (2 * (g.x.sigmoid() * g.kept()).sum(1) + 1) /
                        (g.x.sigmoid().sum(1) + g.kept().sum(1) + 1);
       }},
  });
}

TEST_CASE("a thousandth is seen of products, windows and distances", "[judge]") {
  expect_a_thousandth_seen({
      {"matmul", [](const Given& g) { return g.x.matmul(g.y.t()); }},
      {"bmm",
       [](const Given& g) {
         return at::bmm(g.x.view({2, 16, 96}), g.y.view({2, 16, 96}).transpose(1, 2));
       }},
      {"einsum", [](const Given& g) { return at::einsum("ij,kj->ik", {g.x, g.y}); }},
      {"linear", [](const Given& g) { return at::linear(g.x, g.y); }},
      {"addmm",
       [](const Given& g) { return at::addmm(g.x.matmul(g.y.t()), g.x, g.y.t(), 0.5, 2.0); }},
      {"outer", [](const Given& g) { return at::outer(g.x.select(0, 0), g.y.select(0, 0)); }},
      {"tensordot", [](const Given& g) { return at::tensordot(g.x, g.y, {1}, {1}); }},
      {"inverse",
       [](const Given& g) {
         return at::linalg_inv(g.x.narrow(1, 0, 32) + 16 * g.square().tril().triu());
       }},
      {"conv1d",
       [](const Given& g) {
         return at::conv1d(g.x.unsqueeze(0), g.y.narrow(0, 0, 8).reshape({8, 32, 3}));
       }},
      {"conv2d",
       [](const Given& g) {
         return at::conv2d(g.image(), g.y.narrow(0, 0, 9).narrow(1, 0, 4).reshape({4, 1, 3, 3}));
       }},
      {"conv_transpose2d",
       [](const Given& g) {
         return at::conv_transpose2d(g.image(),
                                     g.y.narrow(0, 0, 9).narrow(1, 0, 4).reshape({1, 4, 3, 3}));
       }},
      {"avg_pool1d", [](const Given& g) { return at::avg_pool1d(g.x.unsqueeze(0), 3); }},
      {"avg_pool2d", [](const Given& g) { return at::avg_pool2d(g.image(), 3); }},
      {"max_pool2d", [](const Given& g) { return at::max_pool2d(g.image(), 2); }},
      {"adaptive_avg_pool1d",
       [](const Given& g) { return at::adaptive_avg_pool1d(g.x.unsqueeze(0), 7); }},
      {"im2col",
       [](const Given& g) { return at::im2col(g.image(), {3, 3}, {1, 1}, {0, 0}, {1, 1}); }},
      {"bilinear",
       [](const Given& g) { return at::upsample_bilinear2d(g.image(), {64, 192}, false); }},
      {"bicubic",
       [](const Given& g) { return at::upsample_bicubic2d(g.image(), {64, 192}, true); }},
      {"pixel_shuffle",
       [](const Given& g) { return at::pixel_shuffle(g.x.view({1, 4, 8, 96}), 2); }},
      {"cdist", [](const Given& g) { return at::cdist(g.x, g.y); }},
      {"cdist, 1", [](const Given& g) { return at::cdist(g.x, g.y, 1.0); }},
      {"pdist", [](const Given& g) { return at::pdist(g.x); }},
      {"pairwise_distance", [](const Given& g) { return at::pairwise_distance(g.x, g.y); }},
      {"cosine_similarity", [](const Given& g) { return at::cosine_similarity(g.x, g.y, 1); }},
      {"rfft", [](const Given& g) { return at::view_as_real(at::fft_rfft(g.x)); }},
      {"stft",
       [](const Given& g) {
         return at::stft(g.x, 64, 16, 64, at::hann_window(64, g.x.options()), false, true, true)
             .abs();
       }},
  });
}

TEST_CASE("a thousandth is seen of functions of a number or two", "[judge]") {
  expect_a_thousandth_seen({
      {"gelu", [](const Given& g) { return at::gelu(g.x); }},
      {"gelu, tanh", [](const Given& g) { return at::gelu(g.x, "tanh"); }},
      {"silu", [](const Given& g) { return at::silu(g.x); }},
      {"mish", [](const Given& g) { return at::mish(g.x); }},
      {"hardswish", [](const Given& g) { return at::hardswish(g.x); }},
      {"softplus", [](const Given& g) { return at::softplus(g.x); }},
      {"softshrink", [](const Given& g) { return at::softshrink(g.x); }},
      {"celu", [](const Given& g) { return at::celu(g.x); }},
      {"selu", [](const Given& g) { return at::selu(g.x); }},
      {"leaky_relu", [](const Given& g) { return at::leaky_relu(g.x, 0.1); }},
      {"tanhshrink", [](const Given& g) { return g.x - g.x.tanh(); }},
      {"log_sigmoid", [](const Given& g) { return at::log_sigmoid(g.x); }},
      {"erf", [](const Given& g) { return g.x.erf(); }},
      {"erfc", [](const Given& g) { return g.x.erfc(); }},
      {"erfinv", [](const Given& g) { return at::erfinv(g.x.tanh() * 0.9); }},
      {"expm1", [](const Given& g) { return g.x.expm1(); }},
      {"log1p", [](const Given& g) { return g.x.abs().log1p(); }},
      {"lgamma", [](const Given& g) { return at::lgamma(g.x.abs() + 0.5); }},
      {"digamma", [](const Given& g) { return at::digamma(g.x.abs() + 1); }},
      {"sinc", [](const Given& g) { return at::sinc(g.x); }},
      {"i0", [](const Given& g) { return at::i0(g.x); }},
      {"tan", [](const Given& g) { return g.x.tan(); }},
      {"asin", [](const Given& g) { return g.x.tanh().asin(); }},
      {"acosh", [](const Given& g) { return (g.x.abs() + 1).acosh(); }},
      {"logit", [](const Given& g) { return at::logit(g.x.sigmoid(), 1e-6); }},
      {"entr", [](const Given& g) { return at::special_entr(g.y.sigmoid()); }},
      {"atan2", [](const Given& g) { return at::atan2(g.x, g.y); }},
      {"hypot", [](const Given& g) { return at::hypot(g.x, g.y); }},
      {"logaddexp", [](const Given& g) { return at::logaddexp(g.x, g.y); }},
      {"fmod", [](const Given& g) { return at::fmod(g.x, g.y.abs() + 1); }},
      {"remainder", [](const Given& g) { return at::remainder(g.x, g.y.abs() + 1); }},
      {"xlogy", [](const Given& g) { return at::xlogy(g.x, g.y.abs()); }},
      {"pow", [](const Given& g) { return at::pow(g.x.abs(), g.y); }},
      {"rsqrt", [](const Given& g) { return g.x.abs().add(0.1).rsqrt(); }},
      {"addcdiv", [](const Given& g) { return at::addcdiv(g.x, g.y, g.x.abs() + 1, 0.5); }},
      {"addcmul", [](const Given& g) { return at::addcmul(g.x, g.y, g.x, 0.3); }},
      {"clamp", [](const Given& g) { return at::clamp(g.x, -g.y.abs(), g.y.abs()); }},
      {"where", [](const Given& g) { return at::where(g.x > g.y, g.x, g.y * 2); }},
  });
}
