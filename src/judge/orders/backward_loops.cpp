#include "judge/orders/backward_loops.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/var.h>

#include <cstddef>

#include "judge/orders/convolutions.hpp"
#include "judge/orders/norm_backward.hpp"
#include "judge/orders/sums.hpp"

namespace ouroboros::judge {
namespace {

using Results = std::vector<at::Tensor>;

/// What was added to the variances whose reciprocal roots were saved.
at::Tensor epsilon(const NormBackward& of) {
  const auto variance = at::var(of.input, of.dims, /*correction=*/0, /*keepdim=*/true);
  return (of.reciprocal.square().reciprocal() - variance).clamp_min_(0);
}

/// With y the normalised x and g its gradient, x has (g - mean(g) - y mean(g y)) / deviation (Ioffe
/// and Szegedy, "Batch normalization", 2015), and the weight the sum of g y.
Results gradients(const NormBackward& of, int order) {
  const auto [mean, variance] = moments(of.input, of.dims, 0.0, order);
  const auto reciprocal = (variance + epsilon(of)).rsqrt();
  const auto normalised = (of.input - mean) * reciprocal;
  const auto g = of.weighted();
  const auto of_x = normalised * means(g * normalised, of.dims, order);
  return {(g - means(g, of.dims, order) - of_x) * reciprocal,
          sums(of.gradient * normalised, of.shared, order), sums(of.gradient, of.shared, order)};
}

std::optional<Results> of_normalisation(std::string_view name, const Given& given) {
  const auto* asked = given.value("output_mask");
  const auto of = norm_backward_of(name, given);
  if (!of || asked == nullptr || of->input.numel() == 0 ||
      of->input.scalar_type() != of->gradient.scalar_type()) {
    return std::nullopt;
  }
  auto made = gradients(*of, given.order);
  made[0] = made[0].view(given.tensor("input").sizes());
  const auto weight = given.tensor("weight");
  for (const std::size_t parameter : {1, 2}) {
    auto& one = made[parameter];
    one = weight.defined() ? one.view(weight.sizes()) : one.flatten();
  }
  const auto wanted = asked->toBoolList();
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!wanted[i]) made[i] = at::Tensor();
  }
  return made;
}

std::optional<Results> of_softmax(std::string_view name, const Given& given) {
  const bool of_logarithm = name == "_log_softmax_backward_data";
  if (!of_logarithm && name != "_softmax_backward_data") return std::nullopt;
  const auto gradient = given.tensor("grad_output");
  const auto output = given.tensor("output");
  if (gradient.scalar_type() != output.scalar_type()) return std::nullopt;
  const auto dims = given.dims(output);
  if (of_logarithm) {
    return Results{gradient - output.exp() * sums(gradient, dims, given.order)};
  }
  return Results{output * (gradient - sums(gradient * output, dims, given.order))};
}

}  // namespace

std::optional<Results> backward_by_loop(std::string_view name, const Given& given) {
  if (name == "convolution_backward") return convolution_backward_in_order(given);
  if (auto made = of_normalisation(name, given)) return made;
  return of_softmax(name, given);
}

}  // namespace ouroboros::judge
