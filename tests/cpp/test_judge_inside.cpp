// What moves inside a reference beside its inputs, and what may be lost of it: constants,
// exponentials, differences, and functions of a product.

#include <ATen/ops/arange.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cdist.h>
#include <ATen/ops/conv1d.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/cosh.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/erfc.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/exp2.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/instance_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/native_group_norm_backward.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sinh.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/special_erf.h>
#include <ATen/ops/special_ndtr.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "catch.hpp"
#include "judge/judge.hpp"
#include "judge/runs/inside.hpp"
#include "judge/runs/promote.hpp"
#include "judge_problems.hpp"

using namespace ouroboros;

namespace {

using ouroboros_test::problem_of;

judge::Case case_of(const Problem& problem, std::int64_t rows, std::int64_t cols,
                    const char* family, std::uint64_t seed) {
  return judge::realise(problem,
                        {0, DType::float32, {{"rows", rows}, {"cols", cols}}, family, seed});
}

std::string status_of(const Problem& problem, const judge::Case& one, const at::Tensor& made) {
  return judge::compare(problem, one, {made.to(at::kFloat).contiguous()}).status;
}

/// 0.5 x (1 + erf(x / sqrt 2)) with three terms of Abramowitz and Stegun's 7.1.25, an error of
/// 2.5e-5.
at::Tensor rough_gelu(const at::Tensor& x) {
  const auto z = x.to(at::kDouble) / std::sqrt(2.0);
  const auto t = 1.0 / (1.0 + 0.47047 * z.abs());
  const auto erf = 1.0 - t * (0.3480242 + t * (-0.0958798 + t * 0.7478556)) * (-z * z).exp();
  return 0.5 * x * (1.0 + at::where(z.lt(0), -erf, erf));
}

at::Tensor plain_gelu(const at::Tensor& x) {
  return 0.5F * x * (1.0F + at::erf(x * static_cast<float>(std::sqrt(0.5))));
}

}  // namespace

TEST_CASE("constants that a reference computes may be computed otherwise", "[judge]") {
  // Sines of some low frequencies: rows are positions. What `exp2` makes of a product that was
  // rounded is off by up to eleven roundings here, what `exp` makes by less than one.
  const auto problem = problem_of([](const Tensors& in) {
    const auto frequencies = at::exp(at::arange(in[0].size(1), at::kFloat) * -0.25F - 11.75F);
    const auto angles = at::arange(in[0].size(0), at::kFloat).unsqueeze(1) * frequencies;
    return Tensors{angles.sin() + in[0] * 0};
  });
  for (std::uint64_t seed = 1; seed < 3; ++seed) {
    INFO("seed " << seed);
    const auto one = case_of(problem, 500'000, 3, "normal", seed);
    const auto made = [&](const at::Tensor& frequencies) {
      return (at::arange(500'000, at::kFloat).unsqueeze(1) * frequencies).sin();
    };
    const auto powers = at::arange(3, at::kFloat) * -0.25F - 11.75F;
    CHECK(status_of(problem, one, made(powers.exp())) == "passed");
    CHECK(status_of(problem, one, made((powers * 1.44269504F).exp2())) == "passed");
    CHECK(status_of(problem, one, made(powers.exp() * (1 + 0x1p-16F))) == "failed");
    CHECK(status_of(problem, one, made(powers.exp().to(at::kBFloat16).to(at::kFloat))) == "failed");
  }
}

TEST_CASE("powers of few bits may be computed otherwise, but for those of two", "[judge]") {
  // Column 128 is divided by ten, and its position is a multiple of that.
  const auto problem = problem_of([](const Tensors& in) {
    const auto exponents = at::arange(in[0].size(1), at::kFloat) / 512;
    const auto positions = at::arange(in[0].size(0), at::kFloat).unsqueeze(1) * 10;
    return Tensors{in[0] + (positions / at::pow(10000.0, exponents)).sin()};
  });
  const auto made = [](const at::Tensor& x, double base) {
    const auto rate = static_cast<float>(-std::log(base) / 512);
    const auto frequencies = at::exp(at::arange(x.size(1), at::kFloat) * rate);
    return x + (at::arange(x.size(0), at::kFloat).unsqueeze(1) * 10 * frequencies).sin();
  };
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    INFO("seed " << seed);
    const auto one = case_of(problem, 64, 256, "faint", seed);
    CHECK(status_of(problem, one, made(one.inputs[0], 10000.0)) == "passed");
    CHECK(status_of(problem, one, made(one.inputs[0], 10001.0)) == "failed");
  }
  const auto halves = problem_of([](const Tensors& in) {
    const auto half = at::pow(2.0, at::arange(in[0].size(1), at::kFloat) - 20);
    return Tensors{in[0] * half.eq(0.25).to(at::kFloat)};
  });
  CHECK_FALSE(case_of(halves, 9, 33, "normal", 3).edges);
}

TEST_CASE("a power by a broken constant may be made of exponentials", "[judge]") {
  // Of numbers near 2^-64 logarithms are some 60, and their roundings that many times as large.
  const auto problem = problem_of([](const Tensors& in) { return Tensors{in[0].abs().pow(1.5)}; });
  const auto made = [](const at::Tensor& x, float exponent) {
    return at::exp2(x.abs().log2() * exponent);
  };
  for (std::uint64_t seed = 1; seed < 7; ++seed) {
    INFO("seed " << seed);
    const auto one = case_of(problem, 64, 256, "faint", seed);
    CHECK(status_of(problem, one, made(one.inputs[0], 1.5F)) == "passed");
    CHECK(status_of(problem, one, made(one.inputs[0], 1.50001F)) == "failed");
  }
}

TEST_CASE("constants of few bits do not move", "[judge]") {
  // Every second column counts: a move of the halves would make others of them.
  const auto problem = problem_of([](const Tensors& in) {
    const auto half = at::arange(in[0].size(1), at::kFloat) / 2;
    return Tensors{in[0] * half.eq(half.floor()).to(at::kFloat)};
  });
  const auto one = case_of(problem, 9, 33, "normal", 3);
  CHECK_FALSE(one.edges);
  const auto even = at::arange(33, at::kFloat).remainder(2).eq(0).to(at::kFloat);
  CHECK(status_of(problem, one, one.inputs[0] * even) == "passed");
  CHECK(status_of(problem, one, one.inputs[0] * even + 1e-6F) == "failed");
}

TEST_CASE("exponentials near one may be off by roundings that add up", "[judge]") {
  // A running product of decays, as in a selective scan; inputs do not move it.
  const auto problem =
      problem_of([](const Tensors& in) { return Tensors{at::exp(in[0] * 0x1p-30).cumprod(1)}; });
  const auto one = case_of(problem, 16, 256, "normal", 5);
  const auto decay = at::exp(one.inputs[0].to(at::kDouble) * 0x1p-30).to(at::kFloat);
  // Up or down by one unit in the last place, as `ex2.approx` may be.
  const auto ulps = one.inputs[0].flip(1).sign();
  CHECK(status_of(problem, one, (decay + ulps * 0x1p-23F).cumprod(1)) == "passed");
  CHECK(status_of(problem, one, (decay + ulps * 0x1p-17F).cumprod(1)) == "failed");
}

TEST_CASE("a difference may lose some roundings of its terms", "[judge]") {
  // The backward pass of x / |x|: with one column there is nothing left of it.
  const auto problem = problem_of([](const Tensors& in) {
    const auto size = in[0].square().sum(-1, true).sqrt() + 1e-8;
    const auto y = in[0] / size;
    const auto g = in[0] * 0.75 + 1;
    return Tensors{(g - y * (g * y).sum(-1, true)) / size};
  });
  const auto one = case_of(problem, 512, 1, "normal", 9);
  const auto x = one.inputs[0];
  const auto size = x.square().sum(-1, true).sqrt() + 1e-8F;
  const auto y = x * (1.0F / size);
  const auto g = x * 0.75F + 1.0F;
  CHECK(status_of(problem, one, (g - y * (g * y).sum(-1, true)) * (1.0F / size)) == "passed");
  CHECK(status_of(problem, one, g * 1e-5F) == "failed");
}

TEST_CASE("what masks is exact: it leaves no room to what is not masked", "[judge]") {
  // As transformers have it: a number that is lost next to -1e9 where it is masked.
  const auto masked = [](const at::Tensor& x, const at::Tensor& mask) {
    return x + at::rsub(mask.type_as(x), 1) * -1e9;
  };
  const auto problem_of_masks = [](std::optional<DType> dtype, Reference reference) {
    auto problem = problem_of(std::move(reference));
    problem.inputs.push_back(problem.inputs[0]);
    problem.inputs[1].name = "mask";
    problem.inputs[1].dtype = dtype;
    return problem;
  };
  for (const auto& dtype : {std::optional<DType>(DType::boolean), std::optional<DType>()}) {
    const auto scores =
        problem_of_masks(dtype, [&](const Tensors& in) { return Tensors{masked(in[0], in[1])}; });
    const auto softmax = problem_of_masks(
        dtype, [&](const Tensors& in) { return Tensors{masked(in[0], in[1]).softmax(-1)}; });
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      judge::CaseSpec spec{0, DType::float32, {{"rows", 16}, {"cols", 300}}, "patchwork", seed};
      spec.masks = {{1, 1}};
      INFO((dtype ? "bool" : "float") << ", seed " << seed);
      const auto plain = judge::realise(scores, spec);
      const auto& x = plain.inputs[0];
      const auto& mask = plain.inputs[1];
      CHECK(status_of(scores, plain, masked(x, mask)) == "passed");
      CHECK(status_of(scores, plain, masked(x + 1, mask)) == "failed");
      const auto powers = judge::realise(softmax, spec);
      CHECK(status_of(softmax, powers, masked(x, mask).softmax(-1)) == "passed");
      CHECK(status_of(softmax, powers, masked(x * 1.01, mask).softmax(-1)) == "failed");
    }
  }
}

TEST_CASE("an attention that masks by bools is judged as its parts are", "[judge]") {
  auto problem = problem_of([](const Tensors& in) {
    const auto x = in[0].unsqueeze(0);
    return Tensors{at::scaled_dot_product_attention(x, x * 0.5, x, in[1]).squeeze(0)};
  });
  problem.inputs.push_back({.name = "mask", .shape = {{1, "rows"}, {1, "rows"}}});
  problem.inputs[1].dtype = DType::boolean;
  for (const char* family : {"normal", "uniform"}) {
    judge::CaseSpec spec{0, DType::float32, {{"rows", 40}, {"cols", 24}}, family, 3};
    spec.masks = {{1, 1}};
    const auto one = judge::realise(problem, spec);
    const auto& x = one.inputs[0];
    const auto scores = x.matmul(x.t()) * (0.5F / std::sqrt(24.0F));
    const auto left = scores.masked_fill(one.inputs[1].logical_not(), -INFINITY).softmax(-1);
    INFO(family);
    CHECK(status_of(problem, one, left.matmul(x)) == "passed");
    CHECK(status_of(problem, one, left.matmul(x) * 1.001F) == "failed");
  }
}

TEST_CASE("float64 normalises nearly equal numbers no better than anyone", "[judge]") {
  // Of two numbers each is one spread from their mean, so that a bias leaves nothing of one.
  const auto two_pass = [](const at::Tensor& x) {
    const auto less = x - x.mean(-1, true);
    return less * (less.square().mean(-1, true) + 1e-5).rsqrt() - 1;
  };
  const auto bias = [](const at::Tensor& x, std::int64_t channels) {
    return at::full({channels}, -1.0, x.options());
  };
  using Form = std::function<at::Tensor(const at::Tensor&)>;
  const std::vector<Form> forms = {
      [&](const at::Tensor& x) { return at::group_norm(x, 1, {}, bias(x, 2)); },
      [&](const at::Tensor& x) {
        return at::instance_norm(x.unsqueeze(1), {}, bias(x, 1), {}, {}, true, 0.1, 1e-5, false)
            .squeeze(1);
      },
      [&](const at::Tensor& x) {
        return at::batch_norm(x.t(), {}, bias(x, x.size(0)), {}, {}, true, 0.1, 1e-5, false).t();
      }};
  for (const auto& form : forms) {
    auto problem = problem_of([&](const Tensors& in) { return Tensors{form(in[0])}; });
    problem.dtypes = {DType::float64};
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const char* family = seed % 2 == 0 ? "common_mean" : "patchwork";
      const judge::CaseSpec spec{0, DType::float64, {{"rows", 100}, {"cols", 2}}, family, seed};
      const auto one = judge::realise(problem, spec);
      const auto made = two_pass(one.inputs[0]);
      INFO(family << ", seed " << seed);
      CHECK(judge::compare(problem, one, {made}).status == "passed");
      CHECK(judge::compare(problem, one, {made * (1 + 1e-7)}).status == "failed");
    }
  }
}

TEST_CASE("a running mean of subnormal numbers is some steps off, which a norm makes more of",
          "[judge]") {
  const auto problem =
      problem_of([](const Tensors& in) { return Tensors{at::layer_norm(in[0], {in[0].size(1)})}; });
  const auto one = case_of(problem, 16, 1000, "denormal", 3);
  const auto& x = one.inputs[0];
  const auto made = at::empty_like(x);
  for (std::int64_t row = 0; row < x.size(0); ++row) {
    const auto* from = x[row].const_data_ptr<float>();
    auto* to = made[row].mutable_data_ptr<float>();
    float mean = 0;
    for (int i = 0; i < 1000; ++i) mean += (from[i] - mean) / static_cast<float>(i + 1);
    for (int i = 0; i < 1000; ++i) to[i] = (from[i] - mean) * (1.0F / std::sqrt(1e-5F));
  }
  CHECK(status_of(problem, one, made) == "passed");
  CHECK(status_of(problem, one, made * 1.25F) == "failed");
  CHECK(status_of(problem, one, at::zeros_like(x)) == "failed");
}

TEST_CASE("a zero point may be taken away after it is scaled", "[judge]") {
  // As kernels for quantised weights have it, with one multiply-add a number.
  auto problem = problem_of([](const Tensors& in) {
    const auto less = in[1].to(at::kInt) - in[2].to(at::kInt);
    return Tensors{less.to(in[0].scalar_type()) * in[0]};
  });
  problem.inputs.resize(3, problem.inputs[0]);
  for (const int i : {1, 2}) {
    problem.inputs[i].name = i == 1 ? "q" : "zero";
    problem.inputs[i].dtype = DType::uint8;
  }
  for (const auto* family : {"normal", "large_mean"}) {  // Of which scales are in the thousands.
    INFO(family);
    const auto one = case_of(problem, 32, 256, family, 3);
    const auto& scale = one.inputs[0];
    const auto q = one.inputs[1].to(at::kFloat);
    const auto zero = one.inputs[2].to(at::kFloat);
    CHECK(status_of(problem, one, q * scale - zero * scale) == "passed");
    CHECK(status_of(problem, one, (q - zero + 1e-3F) * scale) == "failed");
    if (std::string(family) != "normal") continue;  // Large ones are all cut to 255.
    CHECK(status_of(problem, one, (q - zero) * scale * (1 + 3e-5F)) == "failed");
  }
}

TEST_CASE("distances are true where points are near", "[judge]") {
  auto problem = problem_of([](const Tensors& in) { return Tensors{at::cdist(in[0], in[0])}; });
  problem.dtypes = {DType::float64};
  const judge::CaseSpec spec{0, DType::float64, {{"rows", 60}, {"cols", 8}}, "large_mean", 3};
  const auto one = judge::realise(problem, spec);
  const auto& x = one.inputs[0];
  const auto made = (x.unsqueeze(1) - x.unsqueeze(0)).square().sum(-1).sqrt();
  CHECK(judge::compare(problem, one, {made}).status == "passed");
  CHECK(judge::compare(problem, one, {made * (1 + 1e-9)}).status == "failed");
}

TEST_CASE("distances may be made by a product, as LibTorch makes those of many points", "[judge]") {
  const auto by_product = [](const at::Tensor& x) {
    const auto squares = x.square().sum(-1);
    const auto square = squares.unsqueeze(1) + squares.unsqueeze(0) - 2 * x.mm(x.t());
    return square.clamp_min(0).sqrt();
  };
  auto problem = problem_of([](const Tensors& in) { return Tensors{at::cdist(in[0], in[0])}; });
  auto direct = problem_of([](const Tensors& in) {
    constexpr double euclidean = 2.0;
    return Tensors{at::cdist(in[0], in[0], euclidean, /*compute_mode=*/2)};
  });
  for (const std::int64_t rows : {20, 60}) {
    const auto one = case_of(problem, rows, 8, "large_mean", 3);
    CHECK(status_of(problem, one, by_product(one.inputs[0])) == "passed");
    const auto strict = case_of(direct, rows, 8, "large_mean", 3);
    CHECK(status_of(direct, strict, by_product(strict.inputs[0])) == "failed");
    const auto plain = case_of(problem, rows, 8, "normal", 3);
    CHECK(status_of(problem, plain, by_product(plain.inputs[0])) == "passed");
    const auto apart = at::cdist(plain.inputs[0], plain.inputs[0], 2.0, /*compute_mode=*/2);
    CHECK(status_of(problem, plain, apart) == "passed");
    CHECK(status_of(problem, plain, apart * (1 + 2e-5F)) == "failed");
  }
}

TEST_CASE("a blend may be written from either side", "[judge]") {
  const auto blended = [](const at::Tensor& x, const at::Tensor& y, const at::Tensor& gate) {
    return x * gate + y * at::rsub(gate, 1);
  };
  // By bools, by a real mask, by a gate near zero, one or anything, and where all is in one line.
  using Gate = std::function<at::Tensor(const at::Tensor&)>;
  const auto cast = [](const at::Tensor& mask) { return mask.to(at::kFloat); };
  const auto sigmoid = [](const at::Tensor& gate) { return (gate * 20).sigmoid(); };
  const std::vector<std::tuple<const char*, Values, Gate>> gates = {
      {"bools", Values::real, cast}, {"mask", Values::mask, cast}, {"gate", Values::real, sigmoid}};
  for (const auto& [name, values, gate_of] : gates) {
    auto problem = problem_of([&](const Tensors& in) {
      const auto gate = gate_of(in[2]);
      return Tensors{blended(in[0], in[1], gate),
                     gate * in[0] + at::rsub(gate, 1) * (in[1] * in[0].abs()).tanh()};
    });
    problem.outputs = {"plain", "late"};
    problem.inputs.resize(3, problem.inputs[0]);
    problem.inputs[1].name = "y";
    problem.inputs[2].name = "gate";
    problem.inputs[2].values = values;
    if (name == std::string_view("bools")) problem.inputs[2].dtype = DType::boolean;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const judge::CaseSpec spec{
          0, DType::float32, {{"rows", 16}, {"cols", 300}}, "patchwork", seed};
      const auto one = judge::realise(problem, spec);
      const auto& x = one.inputs[0];
      const auto& y = one.inputs[1];
      const auto gate = gate_of(one.inputs[2]);
      const auto opposite = at::rsub(gate, 1);
      const auto late = (y * x.abs()).tanh();
      const auto status = [&](const at::Tensor& plain, const at::Tensor& other) {
        return judge::compare(problem, one, {plain, other}).status;
      };
      INFO(name << ", seed " << seed);
      const auto right = blended(x, y, gate);
      const auto right_late = blended(x, late, gate);
      CHECK(status(y + (x - y) * gate, late + (x - late) * gate) == "passed");
      CHECK(status(x + (y - x) * opposite, x + (late - x) * opposite) == "passed");
      CHECK(status(right * (1 + 1e-5F), right_late) == "failed");
      CHECK(status(right, right_late * (1 + 1e-5F)) == "failed");
    }
  }
}

TEST_CASE("a blend that is divided by its weights may be written from either side", "[judge]") {
  const auto merged = [](const at::Tensor& x, const at::Tensor& a, const at::Tensor& y,
                         const at::Tensor& b) { return (x * a + y * b) / (a + b); };
  const auto weights = [](const Tensors& in) {
    const auto most = in[2].maximum(in[3]);
    return std::pair{(in[2] - most).exp(), (in[3] - most).exp()};
  };
  auto problem = problem_of([&](const Tensors& in) {
    const auto [a, b] = weights(in);
    return Tensors{merged(in[0], a, in[1], b), (in[0] * a + in[1] * b) / (in[2].abs() + 1)};
  });
  problem.outputs = {"merged", "other"};
  problem.inputs.resize(4, problem.inputs[0]);
  for (std::size_t i = 1; i < 4; ++i) problem.inputs[i].name = std::string(1, "xyab"[i]);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const judge::CaseSpec spec{0, DType::float32, {{"rows", 16}, {"cols", 300}}, "patchwork", seed};
    const auto one = judge::realise(problem, spec);
    const auto& x = one.inputs[0];
    const auto& y = one.inputs[1];
    const auto [a, b] = weights(one.inputs);
    const auto gate = (one.inputs[3] - one.inputs[2]).sigmoid();
    const auto other = (x * a + y * b) / (one.inputs[2].abs() + 1);
    const auto status = [&](const at::Tensor& first, const at::Tensor& second) {
      return judge::compare(problem, one, {first, second}).status;
    };
    INFO("seed " << seed);
    const auto right = merged(x, a, y, b);
    CHECK(status(x - gate * (x - y), other) == "passed");
    CHECK(status(y + (1 - gate) * (x - y), other) == "passed");
    CHECK(status(right * (1 + 1e-5F), other) == "failed");
    CHECK(status(right, other + 1e-6F * x) == "failed");
  }
}

TEST_CASE("half of a blend that is written over is none any more", "[judge]") {
  auto problem = problem_of([](const Tensors& in) {
    const auto gate = in[0].sigmoid();
    auto half = in[0] * 64 * gate;
    half.copy_(in[1]);
    return Tensors{half + in[1] * at::rsub(gate, 1)};
  });
  problem.inputs.resize(2, problem.inputs[0]);
  problem.inputs[1].name = "y";
  const auto one = case_of(problem, 16, 300, "normal", 3);
  const auto& y = one.inputs[1];
  const auto made = y + y * at::rsub(one.inputs[0].sigmoid(), 1);
  CHECK(status_of(problem, one, made) == "passed");
  CHECK(status_of(problem, one, made * (1 + 8e-6F)) == "failed");
}

TEST_CASE("a blend with what is there to mask leaves no room", "[judge]") {
  using Form = std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>;
  const std::vector<Form> forms = {
      [](const at::Tensor& x, const at::Tensor& m) { return m * x + at::rsub(m, 1) * (x - 1e9); },
      [](const at::Tensor& x, const at::Tensor& m) {
        return m * x + at::rsub(m, 1) * (x.amin(-1, true) - 1e6);
      },
      [](const at::Tensor& x, const at::Tensor& m) { return at::lerp(x - 1e9, x, m); }};
  for (const auto& form : forms) {
    auto problem = problem_of([&](const Tensors& in) {
      return Tensors{form(in[0], in[1].to(in[0].scalar_type())).softmax(-1)};
    });
    problem.inputs.push_back(problem.inputs[0]);
    problem.inputs[1].name = "mask";
    problem.inputs[1].values = Values::mask;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const judge::CaseSpec spec{0, DType::float32, {{"rows", 16}, {"cols", 300}}, "normal", seed};
      const auto one = judge::realise(problem, spec);
      const auto masked = one.inputs[0].masked_fill(one.inputs[1].eq(0), -INFINITY);
      INFO("seed " << seed);
      CHECK(status_of(problem, one, masked.softmax(-1)) == "passed");
      CHECK(status_of(problem, one, (masked * 1.001).softmax(-1)) == "failed");
    }
  }
}

TEST_CASE("so may those of autograd's own operators", "[judge]") {
  // Of each row or column there is one number, and nothing left of its gradient.
  const auto gradient_of = [](const at::Tensor& x) { return at::ones_like(x); };
  const auto deviation = [](const at::Tensor& x) { return at::full_like(x, 1e-5).rsqrt(); };
  const auto weight = [](const at::Tensor& x) { return at::full({x.size(1)}, 1.25, x.options()); };
  const auto rows = [&](const Tensors& in) {
    const auto& x = in[0];
    return Tensors{std::get<0>(at::native_layer_norm_backward(
        gradient_of(x), x, {1}, x, deviation(x), weight(x), weight(x), {true, true, true}))};
  };
  const auto groups = [&](const Tensors& in) {
    const auto& x = in[0];
    return Tensors{std::get<0>(at::native_group_norm_backward(
        gradient_of(x), x, x, deviation(x), weight(x), x.size(0), 1, 1, 1, {true, true, true}))};
  };
  const auto columns = [&](const Tensors& in) {
    const auto x = in[0].t().contiguous();
    return Tensors{
        std::get<0>(at::native_batch_norm_backward(gradient_of(x), x, weight(x), {}, {}, x[0],
                                                   deviation(x)[0], true, 1e-5, {true, true, true}))
            .t()};
  };
  const std::vector<Reference> all = {rows, groups, columns};
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO("operator " << i);
    const auto problem = problem_of(all[i]);
    const auto one = case_of(problem, 512, 1, "normal", 9);
    const auto term = at::full({512, 1}, 1.25 / std::sqrt(1e-5));
    CHECK(status_of(problem, one, term * 0x1p-23F) == "passed");
    CHECK(status_of(problem, one, term * 0x1p-18F) == "failed");
  }
}

TEST_CASE("sums that are normalised afterwards round otherwise", "[judge]") {
  // The backward pass of a softmax, with equal terms in each row.
  const auto problem = problem_of([](const Tensors& in) {
    const auto y = in[0].softmax(-1);
    const auto g = in[0].flip(-1) * 1.25 + 1;
    return Tensors{y * (g - (g * y).sum(-1, true))};
  });
  for (const std::uint64_t seed : {24, 37, 58}) {
    INFO("seed " << seed);
    const auto one = case_of(problem, 2, 2048, "equal", seed);
    auto made = at::empty_like(one.inputs[0]);
    for (std::int64_t row = 0; row < 2; ++row) {
      const auto e = (one.inputs[0][row] - one.inputs[0][row].max()).exp().contiguous();
      const auto g = (one.inputs[0][row].flip(-1) * 1.25F + 1.0F).contiguous();
      float sum = 0;
      float dot = 0;
      for (std::int64_t i = 0; i < 2048; ++i) {
        sum += e.const_data_ptr<float>()[i];
        dot += e.const_data_ptr<float>()[i] * g.const_data_ptr<float>()[i];
      }
      made[row] = e / sum * (g - dot / sum);
    }
    CHECK(status_of(problem, one, made) == "passed");
    CHECK(status_of(problem, one, made * (1 + 0x1p-10F) + 1e-5F) == "failed");
  }
}

TEST_CASE("long extents that nobody adds along are no long sums", "[judge]") {
  const auto longest = [](const Reference& reference) {
    std::int64_t added = 1;
    judge::Inside inside;
    inside.longest_added = &added;
    (void)judge::promoted(reference, {at::ones({3, 700})}, at::kDouble, inside);
    return added;
  };
  CHECK(longest([](const Tensors& in) { return Tensors{at::gelu(in[0]) + in[0].t().t()}; }) == 1);
  CHECK(longest([](const Tensors& in) { return Tensors{in[0].sum(0) * 2}; }) == 3);
  CHECK(longest([](const Tensors& in) { return Tensors{in[0].view(-1).mean()}; }) == 2100);
  CHECK(longest([](const Tensors& in) { return Tensors{at::softmax(in[0], -1)}; }) == 700);
  CHECK(longest([](const Tensors& in) { return Tensors{in[0].t().mm(in[0])}; }) == 700);
  CHECK(longest([](const Tensors& in) {
          return Tensors{at::conv1d(in[0].unsqueeze(1), at::ones({4, 1, 5}))};
        }) == 5);
}

TEST_CASE("who keeps what a reference's difference loses is nearer to the truth", "[judge]") {
  // Both are 1 + erf, which is zero in float64 where erfc is not.
  for (const auto& reference : std::vector<Reference>{
           [](const Tensors& in) { return Tensors{at::special_ndtr(-8 * in[0].abs() - 8)}; },
           [](const Tensors& in) {
             return Tensors{(1 + at::special_erf((in[0].abs() + 1) * -5.7)) * 0.5};
           }}) {
    const auto problem = problem_of(reference);
    const auto one = case_of(problem, 1, 1, "normal", 3);
    CHECK(one.oracle[0].item().toDouble() == 0.0);
    const auto kept = 0.5 * at::erfc((one.inputs[0].abs() + 1) * 5.66);
    CHECK(kept.item().toDouble() > 0.0);
    CHECK(status_of(problem, one, kept) == "passed");
    CHECK(status_of(problem, one, kept + 1e-3) == "failed");
  }
}

TEST_CASE("a function of a product has no more room than by itself", "[judge]") {
  auto problem =
      problem_of([](const Tensors& in) { return Tensors{at::gelu(at::linear(in[0], in[1]))}; });
  Input weight;
  weight.name = "w";
  weight.shape = {{48, ""}, {1, "cols"}};
  problem.inputs.push_back(weight);
  for (const std::int64_t cols : {8, 64}) {
    INFO("cols " << cols);
    const auto one = case_of(problem, 61, cols, "normal", 3);
    auto plain = at::linear(one.inputs[0], one.inputs[1]).zero_();
    for (std::int64_t k = 0; k < cols; ++k) {
      plain += one.inputs[0].select(1, k).unsqueeze(1) * one.inputs[1].select(1, k);
    }
    CHECK(status_of(problem, one, plain_gelu(plain)) == "passed");
    CHECK(status_of(problem, one, rough_gelu(plain)) == "failed");
  }
}

TEST_CASE("a function of a convolution has no more room than by itself", "[judge]") {
  auto problem = problem_of(
      [](const Tensors& in) { return Tensors{at::gelu(at::conv1d(in[0].unsqueeze(1), in[1]))}; });
  Input weight;
  weight.name = "w";
  weight.shape = {{4, ""}, {1, ""}, {3, ""}};
  problem.inputs.push_back(weight);
  const auto one = case_of(problem, 5, 3000, "normal", 3);
  const auto plain = at::conv1d(one.inputs[0].unsqueeze(1), one.inputs[1]);
  CHECK(status_of(problem, one, plain_gelu(plain)) == "passed");
  CHECK(status_of(problem, one, rough_gelu(plain)) == "failed");
}

TEST_CASE("a loss of logits may be made of log(1 + exp(-|x|))", "[judge]") {
  // Of confident answers little is left of it.
  for (const auto reduction : {at::Reduction::None, at::Reduction::Mean, at::Reduction::Sum}) {
    const auto problem = problem_of([&](const Tensors& in) {
      const auto target = at::full_like(in[0], 1.0);
      const auto loss = at::binary_cross_entropy_with_logits(
          in[0].to(at::kFloat), target.to(at::kFloat), {}, {}, reduction);
      return Tensors{(reduction == at::Reduction::None ? loss.mean(-1) : loss).to(in[0].dtype())};
    });
    bool small = false;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const auto one = judge::realise(
          problem, {0, DType::bfloat16, {{"rows", 50}, {"cols", 160}}, "common_mean", seed});
      const auto x = one.inputs[0].to(at::kFloat);
      const auto each = (-x).clamp_min(0.0) + (1.0F + (-x.abs()).exp()).log();
      const auto made = reduction == at::Reduction::None  ? each.mean(-1)
                        : reduction == at::Reduction::Sum ? each.sum()
                                                          : each.mean();
      small |= one.oracle[0].max().item<double>() < 0x1p-18;
      INFO("seed " << seed << ", reduction " << reduction);
      CHECK(judge::compare(problem, one, {made.to(at::kBFloat16)}).status == "passed");
      const auto more = made.mul(1.05F).add(0.01F).to(at::kBFloat16);
      CHECK(judge::compare(problem, one, {more}).status == "failed");
    }
    CHECK((small || reduction == at::Reduction::Sum));  // Of which thousands are not so small.
  }
}

TEST_CASE("a loss of logits may have its logarithms times the weights of its terms", "[judge]") {
  constexpr double large = 4096;
  for (const auto reduction : {at::Reduction::None, at::Reduction::Mean, at::Reduction::Sum}) {
    for (const bool of_positives : {false, true}) {
      INFO("reduction " << reduction << ", of positives " << of_positives);
      const auto problem = problem_of([&](const Tensors& in) {
        const auto weights = at::full({1}, large, in[0].options());
        const auto x = in[0] + 9.0;  // Confident answers.
        const auto target = at::ones_like(x);
        const auto loss =
            of_positives ? at::binary_cross_entropy_with_logits(x, target, {}, weights, reduction)
                         : at::binary_cross_entropy_with_logits(x, target, weights, {}, reduction);
        return Tensors{reduction == at::Reduction::None ? loss.mean(-1) : loss};
      });
      const auto one =
          judge::realise(problem, {0, DType::float32, {{"rows", 50}, {"cols", 7}}, "normal", 1});
      const auto x = one.inputs[0] + 9.0F;
      const auto each = ((-x).clamp_min(0.0) + (1.0F + (-x.abs()).exp()).log()) * large;
      const auto made = reduction == at::Reduction::None  ? each.mean(-1)
                        : reduction == at::Reduction::Sum ? each.sum()
                                                          : each.mean();
      CHECK(judge::compare(problem, one, {made}).status == "passed");
      CHECK(judge::compare(problem, one, {made * 1.5F}).status == "failed");
    }
  }
}

TEST_CASE("logarithms of equal numbers err alike", "[judge]") {
  // As in a divergence of two distributions from their mean, of which nothing is left.
  const auto problem = problem_of([](const Tensors& in) {
    const auto logarithms = at::log_softmax(in[0], -1);
    const auto shares = logarithms.exp();
    return Tensors{(shares * (logarithms - shares.log())).sum(-1)};
  });
  for (const auto* family : {"denormal", "faint"}) {
    INFO(family);
    const auto one = case_of(problem, 17, 1000, family, 3);
    const float ulp = 0x1p-21F;  // Of log(1000).
    CHECK(status_of(problem, one, at::full({17}, -ulp)) == "passed");
    CHECK(status_of(problem, one, at::full({17}, 16 * ulp)) == "failed");
  }
}

TEST_CASE("logarithms of what is hardly above one may be written otherwise", "[judge]") {
  const auto problem =
      problem_of([](const Tensors& in) { return Tensors{at::log(at::cosh(in[0]))}; });
  for (const auto* family : {"normal", "tiny", "spike"}) {
    INFO(family);
    const auto one = case_of(problem, 31, 100, family, 3);
    const auto size = one.inputs[0].abs();
    const auto half = at::sinh(size * 0.5F);
    const auto exact = at::where(size.gt(40), size - std::log(2.0F), at::log1p(2 * half * half));
    CHECK(status_of(problem, one, exact) == "passed");
    CHECK(status_of(problem, one, size + at::log1p(at::exp(-2 * size)) - std::log(2.0F)) ==
          "passed");
    CHECK(status_of(problem, one, exact * 1.25F + 1e-5F) == "failed");
  }
}
