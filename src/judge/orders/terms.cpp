#include "judge/orders/terms.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <algorithm>

#include "judge/orders/arguments.hpp"

namespace ouroboros::judge {
namespace {

/// Elements of `x` for each of `results`.
std::int64_t share(const at::Tensor& x, std::int64_t results) {
  return x.numel() / std::max<std::int64_t>(results, 1);
}

std::int64_t extent(const at::Tensor& x, std::int64_t dim) {
  dim += dim < 0 ? x.dim() : 0;
  return dim >= 0 && dim < x.dim() ? x.size(dim) : 1;
}

/// The extents along the dimensions that are named; all of them where none is.
std::int64_t along(const at::Tensor& x, const c10::IValue* dims) {
  if (dims == nullptr || dims->isNone()) return x.numel();
  if (dims->isInt()) return extent(x, dims->toInt());
  if (!dims->isIntList() || dims->toIntVector().empty()) return x.numel();
  std::int64_t terms = 1;
  for (const auto dim : dims->toIntVector()) terms *= extent(x, dim);
  return terms;
}

std::int64_t product(const c10::IValue* extents) {
  std::int64_t terms = 1;
  if (extents == nullptr || !extents->isIntList()) return terms;
  for (const auto one : extents->toIntVector()) terms *= one;
  return terms;
}

}  // namespace

std::int64_t terms_of(std::string_view name, const c10::FunctionSchema& schema,
                      const torch::jit::Stack& stack) {
  const auto given = [&](std::string_view of) { return argument(of, schema, stack); };
  const auto number = [&](std::string_view of) {
    const auto* value = given(of);
    return value != nullptr && value->isInt() ? value->toInt() : 0;
  };
  if (schema.arguments().empty()) return 1;
  const auto& first = stack[stack.size() - schema.arguments().size()];
  if (!first.isTensor() || !first.toTensor().defined() || first.toTensor().dim() == 0) return 1;
  const auto& x = first.toTensor();
  if (is_one_of(name, {"sum", "nansum", "mean", "nanmean", "norm", "linalg_norm", "var", "std",
                       "linalg_vector_norm", "var_mean", "std_mean", "logsumexp", "cumsum",
                       "logcumsumexp"})) {
    return along(x, given("dim"));
  }
  if (is_one_of(name, {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div",
                       "binary_cross_entropy", "binary_cross_entropy_with_logits"})) {
    return number("reduction") == 0 ? 1 : x.numel();
  }
  if (is_one_of(name, {"layer_norm", "rms_norm"})) return product(given("normalized_shape"));
  if (name == "group_norm") return share(x, x.size(0) * number("num_groups"));
  if (name == "instance_norm") return share(x, x.size(0) * extent(x, 1));
  if (name == "batch_norm") return share(x, extent(x, 1));
  if (is_one_of(name, {"conv1d", "conv2d", "conv3d", "convolution"})) {
    const auto* weight = given("weight");
    if (weight == nullptr || !weight->isTensor()) return 1;
    return share(weight->toTensor(), extent(weight->toTensor(), 0));
  }
  return 1;
}

std::optional<std::int64_t> terms_of_window(std::string_view name,
                                            const c10::FunctionSchema& schema,
                                            const torch::jit::Stack& stack) {
  if (is_one_of(name, {"avg_pool1d", "avg_pool2d", "avg_pool3d"})) {
    const auto* window = argument("kernel_size", schema, stack);
    if (window == nullptr || !window->isIntList() || window->toIntVector().empty()) return {};
    const auto given = window->toIntVector();
    const auto dims = static_cast<std::size_t>(name[8] - '0');
    std::int64_t terms = 1;
    for (std::size_t i = 0; i < dims; ++i) terms *= given.size() == 1 ? given[0] : given.at(i);
    return terms;
  }
  if (name == "upsample_linear1d") return 2;
  if (name == "upsample_bilinear2d") return 4;
  if (name == "upsample_trilinear3d") return 8;
  if (name == "upsample_bicubic2d") return 16;
  return std::nullopt;
}

}  // namespace ouroboros::judge
