#include <ATen/ops/adaptive_max_pool2d.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/binary_cross_entropy.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv1d.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/conv_transpose3d.h>
#include <ATen/ops/cosine_embedding_loss.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/cumprod.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/hinge_embedding_loss.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/im2col.h>
#include <ATen/ops/instance_norm.h>
#include <ATen/ops/kl_div.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/logcumsumexp.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/margin_ranking_loss.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/nll_loss_nd.h>
#include <ATen/ops/norm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/pairwise_distance.h>
#include <ATen/ops/poisson_nll_loss.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/smooth_l1_loss.h>
#include <ATen/ops/soft_margin_loss.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/std_mean.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/triplet_margin_loss.h>
#include <ATen/ops/upsample_nearest1d.h>
#include <ATen/ops/var_mean.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include "catch.hpp"
#include "judge/judge.hpp"
#include "judge/orders/walk.hpp"
#include "judge/runs/inside.hpp"
#include "judge/runs/promote.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;
using ouroboros_test::problem_of;

namespace {

at::Tensor waves(const std::vector<std::int64_t>& shape, double frequency = 1.0) {
  std::int64_t count = 1;
  for (const auto extent : shape) count *= extent;
  return at::sin(at::arange(count, at::kDouble) * frequency + 0.3).view(shape);
}

/// What a promoted reference makes of `inputs` with plain loops for its sums.
Tensors looped(const Reference& reference, const Tensors& inputs, judge::Loops& loops,
               at::ScalarType type = at::kDouble) {
  judge::Inside inside;
  inside.loops = &loops;
  return judge::promoted(reference, inputs, type, inside);
}

struct Operator {
  const char* name;
  Reference made;
};

/// Whether `made` computes as a plain float32 loop would.
std::string status_of(const Problem& problem, const judge::Case& one, const at::Tensor& made) {
  return judge::compare(problem, one, {made.to(one.reference[0].scalar_type()).contiguous()})
      .status;
}

/// Of what an answer's elements are allowed, the largest share that one is off by.
double share_used(const judge::Case& one, const at::Tensor& made) {
  const auto error = (made.to(at::kDouble) - one.oracle[0]).abs();
  return (error / one.allowed[0]).max().item().toDouble();
}

/// Of each row the sum of the products of what the numbers of two tensors are away from their
/// means, by Welford's updates.
at::Tensor updated(const at::Tensor& x, const at::Tensor& y) {
  auto made = at::zeros_like(x.select(1, 0)).contiguous();
  for (std::int64_t row = 0; row < x.size(0); ++row) {
    const auto* xs = x.const_data_ptr<float>() + row * x.size(1);
    const auto* ys = y.const_data_ptr<float>() + row * x.size(1);
    float mean_x = 0;
    float mean_y = 0;
    float products = 0;
    for (std::int64_t i = 0; i < x.size(1); ++i) {
      const float away = xs[i] - mean_x;
      mean_x += away / static_cast<float>(i + 1);
      mean_y += (ys[i] - mean_y) / static_cast<float>(i + 1);
      products += away * (ys[i] - mean_y);
    }
    made.mutable_data_ptr<float>()[row] = products;
  }
  return made;
}

}  // namespace

TEST_CASE("loops make what the operators make", "[judge]") {
  const auto x = waves({2, 6, 5, 7});
  const auto y = waves({2, 6, 5, 7}, 0.7);
  const auto weight = waves({6}, 0.4);
  const auto row_weight = waves({7}, 0.9);
  const auto chances = (y * 0.4 + 0.5);
  const std::vector<std::int64_t> two = {1, -1};
  const std::vector<Operator> operators = {
      {"sum", [](const Tensors& in) { return Tensors{in[0].sum()}; }},
      {"sum of dims", [&](const Tensors& in) { return Tensors{in[0].sum(two)}; }},
      {"sum kept", [&](const Tensors& in) { return Tensors{in[0].sum(two, true)}; }},
      {"sum of a transposed one",
       [](const Tensors& in) { return Tensors{in[0].transpose(1, 3).sum(2)}; }},
      {"mean", [](const Tensors& in) { return Tensors{in[0].mean(-1)}; }},
      {"mean of all", [](const Tensors& in) { return Tensors{in[0].mean()}; }},
      {"product", [](const Tensors& in) { return Tensors{in[0].prod(-1)}; }},
      {"product of all", [](const Tensors& in) { return Tensors{in[0].prod()}; }},
      {"variance", [](const Tensors& in) { return Tensors{in[0].var(-1, false)}; }},
      {"sample variance", [](const Tensors& in) { return Tensors{in[0].var(-1)}; }},
      {"variance of all", [](const Tensors& in) { return Tensors{in[0].var()}; }},
      {"corrected",
       [&](const Tensors& in) { return Tensors{in[0].var(two, at::Scalar(0.5), true)}; }},
      {"deviation", [](const Tensors& in) { return Tensors{in[0].std(1)}; }},
      {"variance and mean",
       [&](const Tensors& in) {
         const auto [variance, mean] = at::var_mean(in[0], two, at::Scalar(0));
         return Tensors{variance, mean};
       }},
      {"deviation and mean",
       [](const Tensors& in) {
         const auto [deviation, mean] = at::std_mean(in[0]);
         return Tensors{deviation, mean};
       }},
      {"norm", [](const Tensors& in) { return Tensors{in[0].norm()}; }},
      {"norm along", [](const Tensors& in) { return Tensors{at::norm(in[0], 2, {-1}, true)}; }},
      {"sum of sizes", [](const Tensors& in) { return Tensors{at::norm(in[0], 1, {1})}; }},
      {"vector norm",
       [](const Tensors& in) { return Tensors{at::linalg_vector_norm(in[0], 2, {{1}}, true)}; }},
      {"logsumexp", [](const Tensors& in) { return Tensors{at::logsumexp(in[0] * 30, {-1})}; }},
      {"softmax", [](const Tensors& in) { return Tensors{at::softmax(in[0] * 30, 1)}; }},
      {"log_softmax", [](const Tensors& in) { return Tensors{at::log_softmax(in[0] * 30, -1)}; }},
      {"layer_norm",
       [](const Tensors& in) { return Tensors{at::layer_norm(in[0], {5, 7}, {}, {}, 1e-3)}; }},
      {"layer_norm weighted",
       [](const Tensors& in) { return Tensors{at::layer_norm(in[0], {7}, in[3], in[3] * 2)}; }},
      {"rms_norm",
       [](const Tensors& in) { return Tensors{at::rms_norm(in[0], {7}, in[3], 1e-3)}; }},
      {"rms_norm by itself",
       [](const Tensors& in) { return Tensors{at::rms_norm(in[0] * 1e-7, {7})}; }},
      {"group_norm",
       [](const Tensors& in) { return Tensors{at::group_norm(in[0], 3, in[2], in[2] + 1)}; }},
      {"instance_norm",
       [](const Tensors& in) {
         return Tensors{at::instance_norm(in[0], in[2], in[2] + 1, {}, {}, true, 0.1, 1e-5, false)};
       }},
      {"batch_norm",
       [](const Tensors& in) {
         const auto mean = in[2].clone();
         const auto variance = in[2].square();
         const auto made =
             at::batch_norm(in[0], in[2], in[2] + 1, mean, variance, true, 0.1, 1e-5, false);
         return Tensors{made, mean, variance};
       }},
      {"cumsum", [](const Tensors& in) { return Tensors{at::cumsum(in[0], 1)}; }},
      {"cumsum of all", [](const Tensors& in) { return Tensors{at::cumsum(in[0].flatten(), 0)}; }},
      {"cumprod", [](const Tensors& in) { return Tensors{at::cumprod(in[4] + 0.5, 1)}; }},
      {"logcumsumexp",
       [](const Tensors& in) {
         const auto nothing = at::full_like(in[0], -std::numeric_limits<double>::infinity());
         const auto masked = at::where(in[1].gt(0.5), nothing, in[0] * 30);
         return Tensors{at::logcumsumexp(masked, -1)};
       }},
      {"mse_loss", [](const Tensors& in) { return Tensors{at::mse_loss(in[0], in[1])}; }},
      {"mse_loss summed",
       [](const Tensors& in) { return Tensors{at::mse_loss(in[0], in[1], at::Reduction::Sum)}; }},
      {"mse_loss of each",
       [](const Tensors& in) { return Tensors{at::mse_loss(in[0], in[1], at::Reduction::None)}; }},
      {"l1_loss", [](const Tensors& in) { return Tensors{at::l1_loss(in[0], in[1])}; }},
      {"smooth_l1_loss",
       [](const Tensors& in) { return Tensors{at::smooth_l1_loss(in[0], in[1], 1, 0.3)}; }},
      {"huber_loss",
       [](const Tensors& in) { return Tensors{at::huber_loss(in[0], in[1], 1, 0.3)}; }},
      {"kl_div",
       [](const Tensors& in) {
         return Tensors{at::kl_div(in[0], in[1], at::Reduction::Sum, true)};
       }},
      {"soft_margin_loss",
       [](const Tensors& in) { return Tensors{at::soft_margin_loss(in[0], in[1])}; }},
      {"binary_cross_entropy",
       [](const Tensors& in) { return Tensors{at::binary_cross_entropy(in[4], in[4])}; }},
      {"binary_cross_entropy_with_logits",
       [](const Tensors& in) {
         return Tensors{at::binary_cross_entropy_with_logits(in[0], in[4], {}, in[3].abs())};
       }},
      {"cross_entropy",
       [](const Tensors& in) {
         const auto target = at::arange(2 * 5 * 7).remainder(6).view({2, 5, 7});
         return Tensors{at::cross_entropy_loss(in[0], target)};
       }},
      {"cross_entropy without some",
       [](const Tensors& in) {
         const auto target = at::arange(12).remainder(7);
         return Tensors{at::cross_entropy_loss(in[0].reshape({12, 35}), target, {}, 1, 3)};
       }},
      {"cross_entropy of each",
       [](const Tensors& in) {
         const auto target = at::arange(12).remainder(7);
         return Tensors{at::cross_entropy_loss(in[0].reshape({12, 35}), target, {}, 0)};
       }},
      {"cross_entropy smoothed",
       [](const Tensors& in) {
         const auto target = at::arange(12).remainder(7);
         return Tensors{at::cross_entropy_loss(in[0].reshape({12, 35}), target, {}, 1, -100, 0.1)};
       }},
      {"nll_loss",
       [](const Tensors& in) {
         const auto target = at::arange(12).remainder(7);
         return Tensors{at::nll_loss_nd(in[0].reshape({12, 35}), target)};
       }},
      // What PyTorch composes of the others.
      {"margin_ranking_loss",
       [](const Tensors& in) {
         return Tensors{at::margin_ranking_loss(in[0], in[1], in[1].sign(), 0.3)};
       }},
      {"hinge_embedding_loss",
       [](const Tensors& in) { return Tensors{at::hinge_embedding_loss(in[0], in[1].sign())}; }},
      {"cosine_embedding_loss",
       [](const Tensors& in) {
         const auto rows = in[0].flatten(0, 2);
         const auto which = at::ones_like(rows.select(1, 0));
         return Tensors{at::cosine_embedding_loss(rows, in[1].flatten(0, 2), which)};
       }},
      {"triplet_margin_loss",
       [](const Tensors& in) {
         return Tensors{at::triplet_margin_loss(in[0], in[1], in[1] * 0.5)};
       }},
      {"poisson_nll_loss",
       [](const Tensors& in) {
         return Tensors{at::poisson_nll_loss(in[0], in[4], true, false, 1e-8, 1)};
       }},
      {"pairwise_distance",
       [](const Tensors& in) { return Tensors{at::pairwise_distance(in[0], in[1])}; }},
  };
  for (const auto& one : operators) {
    const Tensors inputs = {x, y, weight, row_weight, chances};
    const auto expected = judge::promoted(one.made, inputs);
    for (int order = 0; order < judge::orders; ++order) {
      INFO(one.name << ", order " << order);
      judge::Loops loops{order};
      const auto made = looped(one.made, inputs, loops);
      CHECK(loops.any);
      CHECK(loops.all);
      REQUIRE(made.size() == expected.size());
      for (std::size_t i = 0; i < made.size(); ++i) {
        REQUIRE(made[i].sizes() == expected[i].sizes());
        CHECK(at::allclose(made[i], expected[i], 1e-11, 1e-13));
      }
    }
  }
}

TEST_CASE("loops lose what loops lose", "[judge]") {
  const Reference sum = [](const Tensors& in) { return Tensors{in[0].sum(-1)}; };
  const auto tenths = [&](std::int64_t count) {
    judge::Loops loops;
    return looped(sum, {at::full({1, count}, 0.1, at::kFloat)}, loops, at::kFloat)[0]
        .item()
        .toFloat();
  };
  float expected = 0;
  for (int i = 0; i < 65536; ++i) expected += 0.1F;
  CHECK(tenths(65536) == expected);
  // One loop over sixteen million would lose a sixth: who has as many adds in parts.
  CHECK(tenths(1 << 24) == Approx(1677721.6).epsilon(1e-3));
  // One order is not another.
  const auto mixed = waves({1, 1000}).mul(waves({1, 1000}, 0.1).mul(20).exp()).to(at::kFloat);
  std::vector<float> sums;
  for (int order = 0; order < judge::orders; ++order) {
    judge::Loops in_order{order};
    sums.push_back(looped(sum, {mixed}, in_order, at::kFloat)[0].item().toFloat());
  }
  std::sort(sums.begin(), sums.end());
  CHECK(std::unique(sums.begin(), sums.end()) - sums.begin() >= 3);
}

TEST_CASE("products of matrices are added up in other orders", "[judge]") {
  const auto mixed = waves({2, 9, 300}).mul(waves({2, 9, 300}, 0.1).exp());
  const struct {
    std::string name;
    Reference made;
  } operators[] = {
      {"matmul", [](const Tensors& in) { return Tensors{in[0].matmul(in[0].mT())}; }},
      {"mm", [](const Tensors& in) { return Tensors{in[0][0].matmul(in[0][1].t())}; }},
      {"mv", [](const Tensors& in) { return Tensors{in[0][0].matmul(in[0][1][0])}; }},
      {"dot", [](const Tensors& in) { return Tensors{in[0][0][1].dot(in[0][1][8])}; }},
      {"linear",
       [](const Tensors& in) { return Tensors{at::linear(in[0], in[0][1], in[0][0][0][1])}; }},
      {"baddbmm",
       [](const Tensors& in) {
         return Tensors{at::baddbmm(in[0].slice(2, 0, 9), in[0], in[0].mT(), 0.5, 2.0)};
       }},
      {"einsum",
       [](const Tensors& in) { return Tensors{at::einsum("bik,bjk->ij", {in[0], in[0]})}; }},
      {"attention",
       [](const Tensors& in) {
         const auto q = in[0].unsqueeze(0);
         return Tensors{at::scaled_dot_product_attention(q, q * 0.5, q)};
       }},
  };
  for (const auto& one : operators) {
    INFO(one.name);
    const auto expected = judge::promoted(one.made, {mixed}).front();
    std::vector<at::Tensor> made;
    for (int order = 0; order < judge::orders; ++order) {
      judge::Loops loops{order};
      CHECK(at::allclose(looped(one.made, {mixed}, loops).front(), expected, 1e-11, 1e-13));
      CHECK(loops.any);
      CHECK(loops.all);
      made.push_back(looped(one.made, {mixed.to(at::kFloat)}, loops, at::kFloat).front());
    }
    CHECK(std::any_of(made.begin(), made.end(), [&](const auto& m) { return !m.equal(made[0]); }));
  }
}

TEST_CASE("convolutions are products", "[judge]") {
  const auto x = waves({2, 6, 9, 10, 11});
  const auto weight = waves({4, 6, 3, 2, 3}, 0.4);
  const auto bias = waves({4}, 0.2);
  const struct {
    std::string name;
    Reference made;
  } operators[] = {
      {"1d",
       [](const Tensors& in) {
         return Tensors{at::conv1d(in[0][0][0], in[1][0][0][0].slice(0, 0, 1).expand({5, 10, 3}))};
       }},
      {"2d",
       [](const Tensors& in) {
         return Tensors{at::conv2d(
             in[0][0], in[1][0].transpose(0, 1).slice(1, 0, 1).expand({3, 9, 2, 3}), {}, 2, 1)};
       }},
      {"3d",
       [](const Tensors& in) {
         return Tensors{at::conv3d(in[0], in[1], in[2], {2, 1, 3}, {1, 0, 2}, {1, 2, 1})};
       }},
      {"transposed",
       [](const Tensors& in) {
         return Tensors{at::conv_transpose3d(in[0].slice(1, 0, 4), in[1], {}, {2, 1, 3}, {1, 0, 2},
                                             {1, 0, 2}, 2, {1, 2, 1})};
       }},
      {"in groups",
       [](const Tensors& in) {
         return Tensors{at::conv3d(in[0], in[1].slice(1, 0, 3), in[2], 1, 1, 1, 2)};
       }},
  };
  for (const auto& one : operators) {
    INFO(one.name);
    const auto expected = judge::promoted(one.made, {x, weight, bias}).front();
    for (int order = 0; order < judge::orders; ++order) {
      judge::Loops loops{order};
      CHECK(
          at::allclose(looped(one.made, {x, weight, bias}, loops).front(), expected, 1e-11, 1e-13));
      CHECK((loops.any && loops.all));
      const Tensors single{x.to(at::kFloat), weight.to(at::kFloat), bias.to(at::kFloat)};
      CHECK(at::allclose(looped(one.made, single, loops, at::kFloat).front().to(at::kDouble),
                         expected, 1e-4, 1e-5));
    }
  }
}

TEST_CASE("a convolution of nothing is nothing", "[judge]") {
  judge::Loops loops;
  const auto made = looped([](const Tensors& in) { return Tensors{at::conv1d(in[0], in[1])}; },
                           {waves({2, 3, 9}).slice(0, 0, 0), waves({4, 3, 2})}, loops);
  CHECK(made.front().sizes() == at::IntArrayRef({0, 4, 8}));
  CHECK(loops.all);
}

TEST_CASE("a sum whose number of terms alone is known bounds what it loses", "[judge]") {
  judge::Loops loops;
  (void)looped([](const Tensors& in) { return Tensors{at::avg_pool2d(in[0], {3, 2})}; },
               {waves({2, 6, 7})}, loops);
  CHECK((loops.any && loops.all && loops.terms == 6));
}

TEST_CASE("it is known what adds nothing", "[judge]") {
  const auto seen = [](const Reference& reference) {
    judge::Loops loops;
    (void)looped(reference, {waves({4, 6})}, loops);
    return std::pair(loops.any, loops.all);
  };
  CHECK(seen([](const Tensors& in) {
          const auto top = std::get<0>(at::topk(in[0], 2));
          const auto shifted = at::cat({in[0].slice(1, 1), in[0].slice(1, 0, 1)}, 1);
          auto out = at::zeros_like(shifted);
          out.slice(1, 0, 2).copy_(top);
          return Tensors{at::where(out > 0, out.relu(), shifted.t().contiguous().t().exp_())};
        }) == std::pair(false, true));
  CHECK(seen([](const Tensors& in) {
          return Tensors{at::upsample_nearest1d(in[0].unsqueeze(0), {12})};
        }) == std::pair(false, true));
  CHECK(seen([](const Tensors& in) {
          const auto image = in[0].view({1, 1, 4, 6});
          const auto top = std::get<0>(at::adaptive_max_pool2d(image, {2, 2}));
          return Tensors{at::im2col(image, {2, 2}, {1, 1}, {0, 0}, {1, 1}).relu(), top.exp()};
        }) == std::pair(false, true));
  CHECK(seen([](const Tensors& in) { return Tensors{in[0].matmul(in[0].t())}; }) ==
        std::pair(true, true));
  CHECK(seen([](const Tensors& in) { return Tensors{in[0].softmax(-1).matmul(in[0].t())}; }) ==
        std::pair(true, true));
  CHECK(seen([](const Tensors& in) { return Tensors{in[0].prod(-1)}; }) == std::pair(true, true));
  CHECK(seen([](const Tensors& in) { return Tensors{at::norm(in[0], 3, {1})}; }) ==
        std::pair(false, false));
  const auto normed = [&](bool training) {
    return seen([training](const Tensors& in) {
      const auto one = at::ones_like(in[0][0]);
      return Tensors{at::batch_norm(in[0], {}, {}, one * 0.5, one, training, 0.1, 1e-5, false)};
    });
  };
  CHECK(normed(false) == std::pair(false, true));
  CHECK(normed(true) == std::pair(true, true));
}

TEST_CASE("few of many terms are missed", "[judge]") {
  // Terms that are small beside the others, as exponentials are: all below e^-10.5 left out.
  const auto softmax = ouroboros_test::softmax_problem();
  std::vector<judge::CaseSpec> specs = {
      {0, DType::float32, {{"rows", 4}, {"cols", 4097}}, "x8", 5}};
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    for (const auto& spec : judge::derive_cases(softmax, {DType::float32}, seed)) {
      if (spec.family == "spread") specs.push_back(spec);
    }
  }
  CHECK(specs.size() == 17);  // Every pool has such rows.
  int missed_at_the_end = 0;
  for (const auto& spec : specs) {
    const auto one = judge::realise(softmax, spec);
    const auto x = one.inputs[0].to(at::kDouble);
    const auto away = x - x.amax(-1, true);
    const auto terms = away.exp();
    CHECK(status_of(softmax, one, terms / terms.sum(-1, true)) == "passed");
    const auto without = [&](double least) {
      const auto large = at::where(away.gt(least), terms, at::Scalar(0.0));
      return status_of(softmax, one, terms / large.sum(-1, true));
    };
    CHECK(without(-10.5) == "failed");
    if (spec.family != "spread") continue;
    CHECK(without(-15.0) == "failed");
    missed_at_the_end += without(-16.0) == "failed" ? 1 : 0;
  }
  // A plain loop loses what is below e^-17 of a largest one that it met first.
  CHECK(missed_at_the_end >= 12);
}

TEST_CASE("a plain loop over very many equal terms is right", "[judge]") {
  const auto loss = problem_of([](const Tensors& in) {
    return Tensors{at::binary_cross_entropy_with_logits(in[0], at::zeros_like(in[0]))};
  });
  const auto of = [&](const char* family) {
    return judge::realise(loss, {0, DType::float32, {{"rows", 256}, {"cols", 256}}, family, 5});
  };
  const auto tiny = of("faint");
  const auto terms = (1 + tiny.inputs[0].exp()).log();
  const auto* term = terms.const_data_ptr<float>();
  float sum = 0;
  for (std::int64_t i = 0; i < terms.numel(); ++i) sum += term[i];
  auto made = at::empty_like(tiny.reference[0]);
  *made.mutable_data_ptr<float>() = sum / static_cast<float>(terms.numel());
  CHECK(status_of(loss, tiny, made) == "passed");
  // That costs nothing elsewhere: here ten of 65536 terms are left out.
  const auto usual = of("normal");
  CHECK(status_of(loss, usual, usual.oracle[0] * (1.0 - 10.0 / 65536)) == "failed");
}

TEST_CASE("a variance may be updated from number to number", "[judge]") {
  const auto variance = problem_of([](const Tensors& in) { return Tensors{in[0].var(-1, false)}; });
  // Rows with one number that is far from the others, and what is updated there loses most.
  for (const std::uint64_t seed : {538, 2175, 2338, 3676, 4730}) {
    INFO("seed " << seed);
    const auto one = judge::realise(
        variance, {0, DType::float32, {{"rows", 8}, {"cols", 5574}}, "patchwork", seed});
    CHECK(status_of(variance, one, updated(one.inputs[0], one.inputs[0]) / 5574) == "passed");
    CHECK(status_of(variance, one, one.oracle[0] * (1 + 0x1p-11)) == "failed");
  }
  // Who has very many numbers puts parts together.
  const auto many = waves({1, 1 << 22}).to(at::kFloat);
  judge::Loops in_one_pass{judge::orders - 1};
  const auto made = looped(variance.reference, {many}, in_one_pass, at::kFloat)[0];
  CHECK(made.item().toDouble() == Approx(0.5).epsilon(1e-4));
}

TEST_CASE("so may one that the reference writes out", "[judge]") {
  struct Written {
    const char* name;
    Reference reference;
  };
  const auto out = [](const at::Tensor& variance) { return Tensors{variance}; };
  const Written variances[] = {
      {"square",
       [&](const Tensors& in) { return out((in[0] - in[0].mean(-1, true)).square().mean(-1)); }},
      {"pow, unsqueezed",
       [&](const Tensors& in) {
         return out((in[0] - in[0].mean(-1).unsqueeze(-1)).pow(2).mean(-1));
       }},
      {"product of itself, sums",
       [&](const Tensors& in) {
         const auto away = in[0] - in[0].sum(-1, true) / 1000;
         return out((away * away).sum(-1) / 1000);
       }},
      {"along the other dimension",
       [&](const Tensors& in) {
         const auto x = in[0].t();
         return out((x - x.mean(0)).square().mean(0));
       }},
  };
  for (const auto& [name, reference] : variances) {
    INFO(name);
    const auto problem = problem_of(reference);
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      INFO("seed " << seed);
      const auto of = [&](const char* family) {
        return judge::realise(problem,
                              {0, DType::float32, {{"rows", 8}, {"cols", 1000}}, family, seed});
      };
      const auto far = of("large_mean");
      const auto made = updated(far.inputs[0], far.inputs[0]) / 1000;
      // Where all loops know the mean beforehand, by some seeds half of the room is used.
      CHECK(share_used(far, made) < 0.25);
      CHECK(status_of(problem, far, far.oracle[0] * 1.25) == "failed");
      const auto usual = of("normal");
      CHECK(status_of(problem, usual, usual.oracle[0] * (1 + 0x1p-12)) == "failed");
    }
  }
}

TEST_CASE("what was written to since is no row of a variance", "[judge]") {
  const auto problem = problem_of([](const Tensors& in) {
    auto x = in[0] * 2;
    const auto away = x - x.mean(-1, true);
    x.mul_(64);
    return Tensors{away.square().mean(-1)};
  });
  const auto one =
      judge::realise(problem, {0, DType::float32, {{"rows", 8}, {"cols", 1000}}, "normal", 1});
  CHECK(status_of(problem, one, one.oracle[0]) == "passed");
  CHECK(status_of(problem, one, one.oracle[0] * (1 + 0x1p-12)) == "failed");
}

TEST_CASE("and a covariance", "[judge]") {
  const auto problem = problem_of([](const Tensors& in) {
    const auto y = in[0].flip(1);
    const auto away = in[0] - in[0].mean(-1, true);
    return Tensors{(away * (y - y.mean(-1, true))).mean(-1)};
  });
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    INFO("seed " << seed);
    const auto far = judge::realise(
        problem, {0, DType::float32, {{"rows", 8}, {"cols", 1000}}, "large_mean", seed});
    const auto x = far.inputs[0];
    CHECK(status_of(problem, far, updated(x, x.flip(1).contiguous()) / 1000) == "passed");
    CHECK(status_of(problem, far, far.oracle[0] + 1.0) == "failed");
  }
}

TEST_CASE("a variance may be put together of those of lanes", "[judge]") {
  // By Chan's formula, as a GPU does it.
  constexpr std::int64_t lanes = 256;
  const auto variance = problem_of([](const Tensors& in) { return Tensors{in[0].var(-1, false)}; });
  const auto of_lanes = [](const at::Tensor& x) {
    const auto parts = x.reshape({x.size(0), -1, lanes});
    auto count = 0.0;
    auto mean = at::zeros_like(parts.select(1, 0));
    auto squares = at::zeros_like(mean);
    for (std::int64_t i = 0; i < parts.size(1); ++i) {
      const auto away = parts.select(1, i) - mean;
      mean = mean + away / ++count;
      squares = squares + away * (parts.select(1, i) - mean);
    }
    for (auto half = lanes / 2; half > 0; half /= 2, count *= 2) {
      const auto apart = mean.narrow(1, half, half) - mean.narrow(1, 0, half);
      mean = mean.narrow(1, 0, half) + apart * 0.5;
      squares = squares.narrow(1, 0, half) + squares.narrow(1, half, half) +
                apart.square() * (0.5 * count);
    }
    return (squares / static_cast<double>(x.size(1))).squeeze(1);
  };
  // One row with a mean far from zero. A single walk through it was right by chance.
  for (const std::uint64_t seed : {53, 146, 1048, 1202, 1380}) {
    INFO("seed " << seed);
    const auto one = judge::realise(
        variance, {0, DType::float32, {{"rows", 256}, {"cols", 1024}}, "scattered", seed});
    CHECK(share_used(one, of_lanes(one.inputs[0])) < 0.4);
  }
  // As many rows once more: larger cases add in fewer orders, and this is one of them.
  const auto room = [&](std::int64_t rows) {
    const auto one = judge::realise(
        variance, {0, DType::float32, {{"rows", rows}, {"cols", 1024}}, "large_mean", 5});
    return (one.allowed[0] / one.oracle[0]).min().item().toDouble();
  };
  CHECK(room(512) > 0.5 * room(256));
}
