#include <ATen/core/Reduction.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/exp2.h>
#include <ATen/ops/fft_fft.h>
#include <ATen/ops/frexp.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/histc.h>
#include <ATen/ops/instance_norm.h>
#include <ATen/ops/kl_div.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/ldexp.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/logcumsumexp.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/real.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

#include <cmath>

#include "catch.hpp"
#include "judge/judge.hpp"
#include "judge/runs/inside.hpp"
#include "judge/runs/promote.hpp"
#include "judge/tolerance/longest_sum.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;
using ouroboros_test::problem_of;

namespace {

judge::Case realised(const Problem& problem, DType dtype, std::int64_t cols,
                     const std::string& family = "normal", std::uint64_t seed = 3) {
  return judge::realise(problem, {0, dtype, {{"rows", 16}, {"cols", cols}}, family, seed});
}

/// What a kernel that computes in float32 leaves.
std::string status_of(const Problem& problem, const judge::Case& one, const at::Tensor& made) {
  return judge::compare(problem, one, {made.to(one.reference[0].scalar_type()).contiguous()})
      .status;
}

}  // namespace

TEST_CASE("errors do not grow with the shape where nothing is summed", "[judge]") {
  const auto silu =
      problem_of([](const Tensors& in) { return Tensors{in[0] * at::sigmoid(in[0])}; });
  const auto one = realised(silu, DType::float32, 4096);
  CHECK(judge::longest_sum(silu, one, 1, 1) == 1);
  const auto& truth = one.oracle[0];
  CHECK(status_of(silu, one, truth) == "passed");
  // A sigmoid that is 1e-5 off, which was allowed while 64 roundings were.
  CHECK(status_of(silu, one, truth * (1.0 + 1e-5)) == "failed");

  const auto sums = problem_of([](const Tensors& in) { return Tensors{at::cumsum(in[0], -1)}; });
  CHECK(judge::longest_sum(sums, realised(sums, DType::float32, 4096), 1, 1) == 4096);
  const auto softmax = ouroboros_test::softmax_problem();
  CHECK(judge::longest_sum(softmax, realised(softmax, DType::float32, 300), 1, 1) == 300);
}

TEST_CASE("sums over several axes have as many terms as they add up", "[judge]") {
  const auto x = at::ones({2, 6, 5, 7}, at::kDouble);
  const auto terms = [&](const Reference& reference) {
    std::int64_t most = 1;
    judge::Inside inside;
    inside.most_terms = &most;
    (void)judge::promoted(reference, {x}, at::kDouble, inside);
    return most;
  };
  CHECK(terms([](const Tensors& in) { return Tensors{in[0].mean()}; }) == 420);
  CHECK(terms([](const Tensors& in) { return Tensors{in[0].sum(-1)}; }) == 7);
  CHECK(terms([](const Tensors& in) { return Tensors{in[0].var({2, 3}, false)}; }) == 35);
  CHECK(terms([](const Tensors& in) { return Tensors{in[0].flatten(1).cumsum(1)}; }) == 210);
  CHECK(terms([](const Tensors& in) { return Tensors{at::mse_loss(in[0], in[0] * 2)}; }) == 420);
  CHECK(terms([](const Tensors& in) {
          return Tensors{at::mse_loss(in[0], in[0] * 2, at::Reduction::None)};
        }) == 1);
  CHECK(terms([](const Tensors& in) { return Tensors{at::layer_norm(in[0], {5, 7})}; }) == 35);
  CHECK(terms([](const Tensors& in) { return Tensors{at::group_norm(in[0], 3)}; }) == 70);
  CHECK(terms([](const Tensors& in) {
          return Tensors{at::instance_norm(in[0], {}, {}, {}, {}, true, 0.1, 1e-5, false)};
        }) == 35);
  CHECK(terms([](const Tensors& in) {
          return Tensors{at::conv2d(in[0], at::ones({4, 6, 3, 2}, at::kDouble))};
        }) == 36);
  CHECK(terms([](const Tensors& in) { return Tensors{in[0] * 2 + in[0].relu()}; }) == 1);
}

TEST_CASE("plain sums over long rows of equal numbers are right", "[judge]") {
  const auto norm = problem_of(
      [](const Tensors& in) { return Tensors{at::layer_norm(in[0], {in[0].size(-1)})}; });
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const auto one = realised(norm, DType::float32, 8000, "equal", seed);
    const auto rows = one.inputs[0].size(0);
    const auto cols = one.inputs[0].size(1);
    auto out = at::empty_like(one.inputs[0]);
    const auto* x = one.inputs[0].const_data_ptr<float>();
    auto* to = out.mutable_data_ptr<float>();
    for (std::int64_t r = 0; r < rows; ++r, x += cols, to += cols) {
      float sum = 0;
      for (std::int64_t i = 0; i < cols; ++i) sum += x[i];
      const float mean = sum / static_cast<float>(cols);
      float squares = 0;
      for (std::int64_t i = 0; i < cols; ++i) squares += (x[i] - mean) * (x[i] - mean);
      const float scale = 1 / std::sqrt(squares / static_cast<float>(cols) + 1e-5F);
      for (std::int64_t i = 0; i < cols; ++i) to[i] = (x[i] - mean) * scale;
    }
    INFO(seed);
    CHECK(status_of(norm, one, out) == "passed");
  }
}

TEST_CASE("what is usually a difference may lose what the difference loses", "[judge]") {
  const auto softplus = problem_of([](const Tensors& in) { return Tensors{at::softplus(in[0])}; });
  const auto log1p_of_square =
      problem_of([](const Tensors& in) { return Tensors{at::log1p(in[0] * in[0])}; });
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const auto one = realised(softplus, DType::float32, 256, "x8", seed);
    const auto x = one.inputs[0];
    INFO(seed);
    CHECK(status_of(softplus, one, at::where(x.gt(20), x, (1.0 + x.exp()).log())) == "passed");
    const auto two = realised(log1p_of_square, DType::float32, 256, "tiny", seed);
    const auto square = two.inputs[0] * two.inputs[0];
    CHECK(status_of(log1p_of_square, two, (1.0 + square).log()) == "passed");
    // Half of what is lost below 1, and more of what is not.
    CHECK(status_of(softplus, one, one.oracle[0] * (1.0 + 1e-4)) == "failed");
  }
}

TEST_CASE("the logarithm of a running sum of exponentials may lose what the sum loses", "[judge]") {
  const auto problem =
      problem_of([](const Tensors& in) { return Tensors{at::logcumsumexp(in[0], -1)}; });
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const auto one = judge::realise(
        problem, {0, DType::float32, {{"rows", 400}, {"cols", 127}}, "patchwork", seed});
    auto out = at::empty_like(one.inputs[0]);
    const auto* x = one.inputs[0].const_data_ptr<float>();
    auto* to = out.mutable_data_ptr<float>();
    for (int row = 0; row < 400; ++row) {
      float top = *x;
      float sum = 0;
      for (int col = 0; col < 127; ++col, ++x) {
        const float higher = std::max(top, *x);
        sum = sum * std::exp(top - higher) + std::exp(*x - higher);
        top = higher;
        *to++ = top + std::log(sum);
      }
    }
    INFO(seed);
    CHECK(status_of(problem, one, out) == "passed");
  }
}

TEST_CASE("a small constant may multiply whole numbers and truths", "[judge]") {
  const auto counted = problem_of([](const Tensors& in) {
    const auto positive = in[0] > 0;
    return Tensors{in[0] + positive * 0.01 + positive.cumsum(-1) * 0.002};
  });
  const auto one = realised(counted, DType::float32, 256);
  CHECK(status_of(counted, one, one.oracle[0]) == "passed");
}

TEST_CASE("what is rounded or compared as it was given has no close calls", "[judge]") {
  const auto check = [](const Reference& reference, const Reference& mistaken) {
    const auto problem = problem_of(reference);
    const auto one = realised(problem, DType::float32, 256, "equal");
    const auto x = one.inputs[0];
    CHECK(status_of(problem, one, reference({x})[0]) == "passed");
    CHECK(status_of(problem, one, mistaken({x})[0]) == "failed");
  };
  const auto is_positive = [](const Tensors& in) { return Tensors{in[0] > 0}; };
  const auto is_not_negative = [](const Tensors& in) { return Tensors{in[0] >= 0}; };
  check(is_positive, is_not_negative);
  // To whole numbers and to real ones, of a part of the input, and of all of it times four.
  const auto rounded = [](const Tensors& in) { return Tensors{in[0].round().to(at::kInt)}; };
  const auto half_up = [](const Tensors& in) {
    return Tensors{(in[0] + 0.5).floor().to(at::kInt)};
  };
  check(rounded, half_up);
  const auto quarter = [](const Tensors& in) {
    return Tensors{(in[0].slice(1, 3, 100) * 4).ceil() / 4};
  };
  const auto next_quarter = [](const Tensors& in) {
    const auto x = in[0].slice(1, 3, 100);  // Zeros move in no case.
    return Tensors{at::where(x.eq(0), x, (x * 4).floor() + 1).div(4)};
  };
  check(quarter, next_quarter);
  // And of blocks that are scaled by the power of two that their largest number has, exactly.
  const auto scaled = [](const at::Tensor& x) {
    const auto exponent = std::get<1>(at::frexp(x.abs().amax(-1, true).clamp_min(0x1p-100)));
    return x / at::ldexp(at::ones_like(x.slice(1, 0, 1)), exponent - 2);
  };
  const auto to_blocks = [&](const Tensors& in) {
    return Tensors{scaled(in[0]).round().to(at::kInt)};
  };
  const auto to_blocks_half_up = [&](const Tensors& in) {
    return Tensors{(scaled(in[0]) + 0.5).floor().to(at::kInt)};
  };
  check(to_blocks, to_blocks_half_up);
  // What is computed first may fall either way, as far as its rounding goes.
  const auto third = [](const Tensors& in) { return Tensors{(in[0] / 3).floor().to(at::kInt)}; };
  const auto by_reciprocal = [](const Tensors& in) {
    return Tensors{(in[0] * (1.0F / 3)).floor().to(at::kInt)};
  };
  const auto problem = problem_of(third);
  const auto one = realised(problem, DType::float32, 256, "equal");
  CHECK(status_of(problem, one, by_reciprocal({one.inputs[0]})[0]) == "passed");
}

TEST_CASE("bins of a histogram are told by arithmetic, and its two ends by comparing", "[judge]") {
  constexpr double end = 2.0;
  const auto counts = [](const at::Tensor& x) {
    return at::histc(x.to(at::kFloat), 16, -end, end);
  };
  const auto problem =
      problem_of([&](const Tensors& in) { return Tensors{at::histc(in[0], 16, -end, end)}; });
  const auto one = realised(problem, DType::float32, 256, "equal");
  const auto x = one.inputs[0];
  REQUIRE(x.eq(end).any().item().toBool());
  REQUIRE(x.eq(0.5).any().item().toBool());
  CHECK(status_of(problem, one, counts(x)) == "passed");
  // A number on an edge inside falls into the bin below.
  CHECK(status_of(problem, one, counts(at::where(x.eq(0.5), x - 1e-6, x))) == "passed");
  // The last edge is left out, or too little beyond it is not.
  CHECK(status_of(problem, one, counts(at::where(x.eq(end), x + 1, x))) == "failed");
  CHECK(status_of(problem, one, counts(at::where(x.gt(end), x.clamp_max(end), x))) == "failed");
}

TEST_CASE("a mean may be off by a rounding in float64 too, where little is left of it", "[judge]") {
  // The oracle computes in float64 as well, and is no better: this seed has a row of two numbers
  // near -2^11, a third apart.
  const auto problem = problems::get("layernorm");
  int rows_of_two = 0;
  for (const auto& spec : judge::derive_cases(problem, {DType::float64}, 33009)) {
    if (spec.family != "patchwork") continue;
    const auto one = judge::realise(problem, spec);
    const auto& x = one.inputs[0];
    rows_of_two += x.size(-1) == 2 ? 1 : 0;
    const auto centred = x - x.sum({-1}, true) / x.size(-1);
    const auto variance = centred.square().sum({-1}, true) / x.size(-1);
    const auto made = centred * (variance + 1e-5).rsqrt() * one.inputs[1] + one.inputs[2];
    CHECK(status_of(problem, one, made) == "passed");
  }
  CHECK(rows_of_two > 0);
}

TEST_CASE("complex numbers are nothing that was given", "[judge]") {
  const auto turned = problem_of([](const Tensors& in) {
    const auto quarter = c10::Scalar(c10::complex<double>(0.0, 1.0));
    return Tensors{at::real(at::fft_fft(in[0]) * quarter).contiguous()};
  });
  const auto one = realised(turned, DType::float32, 256);
  CHECK(status_of(turned, one, one.oracle[0]) == "passed");
  CHECK(status_of(turned, one, one.oracle[0] * (1.0 + 1e-3)) == "failed");
}

TEST_CASE("places among numbers that were sorted are those of the numbers themselves", "[judge]") {
  const auto places = [](const Tensors& in) {
    return Tensors{at::searchsorted(std::get<0>(at::sort(in[0], -1)), in[0])};
  };
  const auto problem = problem_of(places);
  const auto one = realised(problem, DType::float32, 256, "equal");
  const auto sorted = std::get<0>(at::sort(one.inputs[0], -1));
  CHECK(status_of(problem, one, at::searchsorted(sorted, one.inputs[0])) == "passed");
  // Two of the largest, of which one is the first.
  const auto largest = one.inputs[0].eq(one.inputs[0].amax({-1}, true));
  const auto last = at::searchsorted(sorted, one.inputs[0], false, true) - 1;
  const auto first = at::searchsorted(sorted, one.inputs[0]);
  CHECK(status_of(problem, one, at::where(largest, last, first)) == "failed");
}

TEST_CASE("a small constant may be what float32 has of one less another", "[judge]") {
  const float decay = 0.999F;
  const double rate = static_cast<double>(1.0F - decay);  // 4.7e-5 off, relative.
  const auto average = problem_of(
      [](const Tensors& in) { return Tensors{in[0] * 0.999 + (1 - 0.999) * (in[0] * in[0])}; });
  const auto fused = problem_of([](const Tensors& in) {
    return Tensors{at::addcmul(in[0] * 0.999, in[0], in[0], 1 - 0.999)};
  });
  const auto between =
      problem_of([](const Tensors& in) { return Tensors{at::lerp(in[0], in[0] * in[0], 0.001)}; });
  for (const auto* problem : {&average, &fused, &between}) {
    for (const char* family : {"normal", "common_mean", "patchwork"}) {
      const auto one = realised(*problem, DType::float32, 256, family);
      const auto x = one.inputs[0].to(at::kDouble);
      INFO(family);
      CHECK(status_of(*problem, one, x * static_cast<double>(decay) + rate * x * x) == "passed");
      CHECK(status_of(*problem, one, x * 0.999 + 0.00101 * x * x) == "failed");
      CHECK(status_of(*problem, one, one.oracle[0] * (1.0 + 1e-3)) == "failed");
    }
  }
}

TEST_CASE("an average may be written from its other side", "[judge]") {
  // What is averaged is larger than the average, as a gradient at first.
  const auto larger = [](const at::Tensor& x) { return x.roll(1, -1) * 64; };
  for (const double decay : {0.95, 0.98, 0.99}) {
    const auto average = problem_of(
        [&](const Tensors& in) { return Tensors{in[0] * decay + (1 - decay) * larger(in[0])}; });
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const auto one = realised(average, DType::float32, 1024, "patchwork", seed);
      const auto& x = one.inputs[0];
      const auto g = larger(x);
      INFO(decay << ", seed " << seed);
      CHECK(status_of(average, one, (x - g) * decay + g) == "passed");
      CHECK(status_of(average, one, (x - g) * (decay + 1e-6) + g) == "failed");
    }
  }
}

TEST_CASE("a loss of classes may be the logarithm of the sum less the score", "[judge]") {
  const auto classes = [](const at::Tensor& x) {
    return at::arange(x.size(0), at::kLong).remainder(x.size(1));
  };
  const auto loss = problem_of([&](const Tensors& in) {
    return Tensors{at::cross_entropy_loss(in[0], classes(in[0]), {}, at::Reduction::None)};
  });
  for (const char* family : {"x64", "spike", "normal"}) {
    for (const std::int64_t cols : {1, 2, 300}) {
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const auto one = realised(loss, DType::float32, cols, family, seed);
        const auto& x = one.inputs[0];
        const auto score = x.gather(1, classes(x).unsqueeze(1)).squeeze(1);
        const auto sum = at::logsumexp(x, {1}, false);
        INFO(family << ", " << cols << " classes, seed " << seed);
        CHECK(status_of(loss, one, sum - score) == "passed");
        // To base 2, all of it.
        const auto scaled = x * M_LOG2E;
        const auto top = scaled.amax({1}, true);
        const auto base_2 = top.squeeze(1) + at::exp2(scaled - top).sum({1}).log2();
        CHECK(status_of(loss, one, base_2 * M_LN2 - score) == "passed");
        CHECK(status_of(loss, one, sum * (1 + 1e-4) - score) == "failed");
      }
    }
  }
}

TEST_CASE("an attention over split keys may be put together by logarithms of sums", "[judge]") {
  // Where keys are the queries themselves nearly all of a row is one term.
  const auto keys = [](const at::Tensor& x) { return x.roll(1, -1); };
  const auto whole = problem_of([&](const Tensors& in) {
    const auto x = in[0].unsqueeze(0);
    return Tensors{at::scaled_dot_product_attention(x, keys(x), x).squeeze(0)};
  });
  const auto parts = problem_of([&](const Tensors& in) {
    const double scale = 1 / std::sqrt(static_cast<double>(in[0].size(1)));
    return Tensors{at::matmul(at::softmax(at::matmul(in[0], keys(in[0]).t()) * scale, -1), in[0])};
  });
  const auto split = [&](const at::Tensor& x) {
    const auto scores = at::matmul(x, keys(x).t()) / std::sqrt(static_cast<double>(x.size(1)));
    std::vector<at::Tensor> made;
    std::vector<at::Tensor> sums;
    const auto length = x.size(0) / 4;
    for (std::int64_t part = 0; part < 4; ++part) {
      const auto some = scores.narrow(1, part * length, length);
      made.push_back(at::matmul(at::softmax(some, -1), x.narrow(0, part * length, length)));
      sums.push_back(at::logsumexp(some, {1}, true));
    }
    const auto lse = at::cat(sums, 1);
    const auto weights = (lse - at::logsumexp(lse, {1}, true)).exp();
    return at::matmul(weights.unsqueeze(1), at::stack(made, 1)).squeeze(1);
  };
  for (const auto* problem : {&whole, &parts}) {
    for (const char* family : {"normal", "x8", "x64"}) {  // Scores below 2^16.
      for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const auto one = judge::realise(
            *problem, {0, DType::float32, {{"rows", 128}, {"cols", 32}}, family, seed});
        INFO(family << ", seed " << seed);
        CHECK(status_of(*problem, one, split(one.inputs[0])) == "passed");
      }
    }
    const auto one = realised(*problem, DType::float32, 32, "normal");
    CHECK(status_of(*problem, one, split(one.inputs[0]) * (1 + 1e-4)) == "failed");
  }
}

TEST_CASE("next to nothing is lost of a divergence's logarithms where they are large", "[judge]") {
  // The reference errs by nothing, since it rounds both sides alike.
  const auto divergence = problem_of([](const Tensors& in) {
    const auto a = at::log_softmax(in[0], -1);
    const auto b = at::log_softmax(in[0] * 0.5, -1);
    return Tensors{at::kl_div(a, b, at::Reduction::None, /*log_target=*/true).sum({-1})};
  });
  for (const char* family : {"faint", "denormal", "normal"}) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const auto one = realised(divergence, DType::float32, 1024, family, seed);
      const auto a = one.inputs[0] - one.inputs[0].amax({1}, true);
      const auto b = a * 0.5;
      const auto sum_a = a.exp().sum({1});
      const auto sum_b = b.exp().sum({1});
      const auto made = (b.exp() * (b - a)).sum({1}) / sum_b + (sum_a.log() - sum_b.log());
      INFO(family << ", seed " << seed);
      CHECK(status_of(divergence, one, made) == "passed");
      CHECK(status_of(divergence, one, made + 1e-4) == "failed");
    }
  }
}

TEST_CASE("factors of products may be rounded to the case's 16 bits, and not to eight", "[judge]") {
  const double scale = 1.0 / 64;  // Weights of one size: a one survives every rounding.
  const auto plain = problem_of([=](const Tensors& in) {
    const auto x = in[0].to(at::kFloat);
    return Tensors{
        at::matmul(at::softmax(at::matmul(x, x.t()) * scale, -1), x).to(in[0].scalar_type())};
  });
  const auto fused = problem_of([=](const Tensors& in) {
    const auto x = in[0].to(at::kFloat).unsqueeze(0).unsqueeze(0);
    const auto made = at::scaled_dot_product_attention(x, x, x, std::nullopt, 0.0, false, scale);
    return Tensors{made.squeeze(0).squeeze(0).to(in[0].scalar_type())};
  });
  for (const auto* problem : {&plain, &fused}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const auto one = realised(*problem, DType::float16, 64, "normal", seed);
      const auto x = one.inputs[0].to(at::kDouble);
      const auto weights = at::softmax(at::matmul(x, x.t()) * scale, -1);
      const auto with = [&](at::ScalarType type) {
        return at::matmul(weights.to(type).to(at::kDouble), x);
      };
      INFO(seed);
      CHECK(status_of(*problem, one, with(at::kHalf)) == "passed");
      CHECK(status_of(*problem, one, with(at::kFloat8_e4m3fn)) == "failed");
    }
  }
}
