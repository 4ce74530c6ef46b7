#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/silu.h>

#include "problems/shipped.hpp"

namespace ouroboros::problems::shipped {
namespace {

constexpr double rms_epsilon = 1e-6;
constexpr double layer_epsilon = 1e-5;

at::Tensor rms_normalised(const at::Tensor& x, const at::Tensor& weight) {
  return x * (x.square().mean(-1, true) + rms_epsilon).rsqrt() * weight;
}

at::Tensor layer_normalised(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::layer_norm(x, {x.size(-1)}, weight, bias, layer_epsilon);
}

const std::vector<AxisValues> norm_cells = {{{"rows", 1024}, {"cols", 1024}},
                                            {{"rows", 256}, {"cols", 4096}}};
const std::vector<AxisValues> norm_cells_gpu = {{{"rows", 8192}, {"cols", 4096}},
                                                {{"rows", 1024}, {"cols", 4096}}};

}  // namespace

Problem rmsnorm() {
  Problem problem = over({"rows", "cols"});
  problem.description = "out = x / sqrt(mean(x^2) + 1e-6) * weight over each row";
  problem.inputs = {tensor("x", {"rows", "cols"}), weight("weight", {"cols"})};
  problem.timed = norm_cells;
  problem.timed_gpu = norm_cells_gpu;
  problem.reference = [](const Tensors& in) -> Tensors {
    return {rms_normalised(widened(in[0]), widened(in[1])).to(in[0].scalar_type())};
  };
  return problem;
}

Problem layernorm() {
  Problem problem = over({"rows", "cols"});
  problem.description =
      "out = (x - mean(x)) / sqrt(var(x) + 1e-5) * weight + bias over each row, biased variance";
  problem.inputs = {tensor("x", {"rows", "cols"}), weight("weight", {"cols"}),
                    weight("bias", {"cols"})};
  problem.timed = norm_cells;
  problem.timed_gpu = norm_cells_gpu;
  problem.reference = [](const Tensors& in) -> Tensors {
    return {
        layer_normalised(widened(in[0]), widened(in[1]), widened(in[2])).to(in[0].scalar_type())};
  };
  return problem;
}

Problem add_rmsnorm() {
  Problem problem = over({"rows", "cols"});
  problem.description =
      "sum = x + residual; out = sum / sqrt(mean(sum^2) + 1e-6) * weight over each row, from the "
      "sum before it is rounded";
  problem.inputs = {tensor("x", {"rows", "cols"}), tensor("residual", {"rows", "cols"}),
                    weight("weight", {"cols"})};
  problem.outputs = {"out", "sum"};
  problem.timed = norm_cells;
  problem.timed_gpu = norm_cells_gpu;
  problem.reference = [](const Tensors& in) -> Tensors {
    const at::Tensor sum = widened(in[0]) + widened(in[1]);
    return {rms_normalised(sum, widened(in[2])).to(in[0].scalar_type()),
            sum.to(in[0].scalar_type())};
  };
  return problem;
}

Problem add_rmsnorm_gelu() {
  Problem problem = over({"rows", "cols"});
  problem.description =
      "s = x + residual; out = gelu(s / sqrt(mean(s^2) + 1e-6) * weight) over each row, gelu in "
      "its tanh form";
  problem.inputs = {tensor("x", {"rows", "cols"}), tensor("residual", {"rows", "cols"}),
                    weight("weight", {"cols"})};
  problem.timed = norm_cells;
  problem.timed_gpu = norm_cells_gpu;
  problem.reference = [](const Tensors& in) -> Tensors {
    const at::Tensor sum = widened(in[0]) + widened(in[1]);
    return {at::gelu(rms_normalised(sum, widened(in[2])), "tanh").to(in[0].scalar_type())};
  };
  return problem;
}

Problem layernorm_silu() {
  Problem problem = over({"rows", "cols"});
  problem.description =
      "n = (x - mean(x)) / sqrt(var(x) + 1e-5) * weight + bias over each row, biased variance; "
      "out = n * sigmoid(n)";
  problem.inputs = {tensor("x", {"rows", "cols"}), weight("weight", {"cols"}),
                    weight("bias", {"cols"})};
  problem.timed = norm_cells;
  problem.timed_gpu = norm_cells_gpu;
  problem.reference = [](const Tensors& in) -> Tensors {
    return {at::silu(layer_normalised(widened(in[0]), widened(in[1]), widened(in[2])))
                .to(in[0].scalar_type())};
  };
  return problem;
}

}  // namespace ouroboros::problems::shipped
