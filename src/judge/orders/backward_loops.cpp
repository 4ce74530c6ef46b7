#include "judge/orders/backward_loops.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/var.h>

#include <cstddef>
#include <cstdint>
#include <numeric>

#include "judge/orders/convolutions.hpp"
#include "judge/orders/sums.hpp"

namespace ouroboros::judge {
namespace {

using Results = std::vector<at::Tensor>;

/// A normalisation in the shape in which it is one: over `dims`, with a weight for each element
/// along those dimensions that are not `shared`.
struct Normalisation {
  at::Tensor gradient;
  at::Tensor input;
  at::Tensor weight;  ///< With an extent of one along `shared`; undefined where there is none.
  Extents dims;
  Extents shared;
};

/// With y the normalised x and g its gradient, x has (g - mean(g) - y mean(g y)) / deviation (Ioffe
/// and Szegedy, "Batch normalization", 2015), and the weight the sum of g y.
Results gradients(const Normalisation& of, const at::Tensor& eps, int order) {
  const auto [mean, variance] = moments(of.input, of.dims, 0.0, order);
  const auto reciprocal = (variance + eps).rsqrt();
  const auto normalised = (of.input - mean) * reciprocal;
  const auto g = of.weight.defined() ? of.gradient * of.weight : of.gradient;
  const auto of_x = normalised * means(g * normalised, of.dims, order);
  return {(g - means(g, of.dims, order) - of_x) * reciprocal,
          sums(of.gradient * normalised, of.shared, order), sums(of.gradient, of.shared, order)};
}

/// What was added to variances whose reciprocal roots are `reciprocal`.
at::Tensor epsilon(const Normalisation& of, const at::Tensor& reciprocal) {
  const auto variance = at::var(of.input, of.dims, /*correction=*/0, /*keepdim=*/true);
  return (reciprocal.view(variance.sizes()).square().reciprocal() - variance).clamp_min_(0);
}

Extents range(std::int64_t first, std::int64_t end) {
  Extents out(static_cast<std::size_t>(end - first));
  std::iota(out.begin(), out.end(), first);
  return out;
}

Results of_layer_norm(const Given& given) {
  const auto input = given.tensor("input");
  const auto inner = static_cast<std::int64_t>(given.extents("normalized_shape").size());
  const Normalisation of{given.tensor("grad_out"), input, given.tensor("weight"),
                         range(input.dim() - inner, input.dim()), range(0, input.dim() - inner)};
  return gradients(of, epsilon(of, given.tensor("rstd")), given.order);
}

Results of_group_norm(const Given& given) {
  const auto groups = given.whole("group", 1);
  const auto channels = given.whole("C", 1);
  const Extents shape{given.whole("N", 1), groups, channels / groups, given.whole("HxW", 1)};
  auto weight = given.tensor("weight");
  if (weight.defined()) weight = weight.view({1, groups, channels / groups, 1});
  const Normalisation of{given.tensor("grad_out").reshape(shape),
                         given.tensor("input").reshape(shape),
                         weight,
                         {2, 3},
                         {0, 3}};
  return gradients(of, epsilon(of, given.tensor("rstd")), given.order);
}

/// Empty where means were counted before, and nothing is subtracted.
std::optional<Results> of_batch_norm(const Given& given) {
  const auto input = given.tensor("input");
  if (!given.flag("train")) return std::nullopt;
  Extents others{0};
  for (std::int64_t dim = 2; dim < input.dim(); ++dim) others.push_back(dim);
  auto weight = given.tensor("weight");
  if (weight.defined()) {
    Extents channel(static_cast<std::size_t>(input.dim()), 1);
    channel[1] = input.size(1);
    weight = weight.view(channel);
  }
  const Normalisation of{given.tensor("grad_out"), input, weight, others, others};
  return gradients(of, at::scalar_tensor(given.number("eps", 0.0), input.options()), given.order);
}

std::optional<Results> of_normalisation(std::string_view name, const Given& given) {
  const auto input = given.tensor("input");
  const auto gradient = given.tensor("grad_out");
  const auto* asked = given.value("output_mask");
  if (!input.defined() || asked == nullptr || input.numel() == 0 ||
      input.scalar_type() != gradient.scalar_type()) {
    return std::nullopt;
  }
  std::optional<Results> made;
  if (name == "native_layer_norm_backward") made = of_layer_norm(given);
  if (name == "native_group_norm_backward") made = of_group_norm(given);
  if (name == "native_batch_norm_backward") made = of_batch_norm(given);
  if (!made) return std::nullopt;
  const auto wanted = asked->toBoolList();
  auto& all = *made;
  all[0] = all[0].view(input.sizes());
  const auto weight = given.tensor("weight");
  for (const std::size_t parameter : {1, 2}) {
    all[parameter] =
        weight.defined() ? all[parameter].view(weight.sizes()) : all[parameter].flatten();
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!wanted[i]) all[i] = at::Tensor();
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
  if (name.ends_with("_norm_backward")) return of_normalisation(name, given);
  return of_softmax(name, given);
}

}  // namespace ouroboros::judge
