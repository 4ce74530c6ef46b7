#include "judge/runs/backward.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/maximum.h>

#include "judge/orders/arguments.hpp"
#include "judge/orders/given.hpp"
#include "judge/orders/norm_backward.hpp"

namespace ouroboros::judge {

std::optional<at::Tensor> size_of_activation_backward(std::string_view name,
                                                      const c10::FunctionSchema& schema,
                                                      const torch::jit::Stack& stack) {
  if (!is_one_of(name, {"gelu_backward", "mish_backward"})) return std::nullopt;
  const Given given(schema, stack, 0);
  const auto gradient = given.tensor("grad_output").abs();
  const auto x = given.tensor("self").abs();
  if (name == "mish_backward") return gradient * (x + 1.0);
  if (given.value("approximate")->toStringRef() != "tanh") return gradient;
  return gradient * (x * (x.square() * 0.107 + 0.8) + 1.0);
}

std::optional<at::Tensor> size_of_difference_backward(std::string_view name,
                                                      const c10::FunctionSchema& schema,
                                                      const torch::jit::Stack& stack) {
  const Given given(schema, stack, 0);
  const auto of = norm_backward_of(name, given);
  if (!of) return std::nullopt;
  // With y the normalised x and g its gradient, x has (g - mean(g) - y mean(g y)) / deviation
  // (Ioffe and Szegedy, "Batch normalization", 2015; of rows: Ba, Kiros and Hinton, "Layer
  // normalization", 2016).
  const auto g = of->weighted();
  const auto normalised = (of->input - of->mean) * of->reciprocal;
  const auto of_mean = g.mean(of->dims, true).abs();
  const auto of_x = normalised.mul((g * normalised).mean(of->dims, true)).abs();
  const auto largest = at::maximum(at::maximum(g.abs(), of_mean), of_x) * of->reciprocal;
  // Where a row has infinities, none of its numbers is known.
  return largest.reshape(given.tensor("input").sizes()).nan_to_num(0.0, 0.0, 0.0);
}

}  // namespace ouroboros::judge
