#include "judge/runs/backward.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/maximum.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "judge/orders/arguments.hpp"

namespace ouroboros::judge {
namespace {

/// An operator's arguments by name.
class Arguments {
 public:
  Arguments(const c10::FunctionSchema& schema, const torch::jit::Stack& stack)
      : schema_(schema), stack_(stack) {}

  [[nodiscard]] const c10::IValue& operator[](std::string_view name) const {
    return *argument(name, schema_, stack_);
  }
  [[nodiscard]] at::Tensor tensor(std::string_view name) const { return (*this)[name].toTensor(); }
  [[nodiscard]] std::int64_t integer(std::string_view name) const { return (*this)[name].toInt(); }

  /// Undefined where there is none.
  [[nodiscard]] at::Tensor perhaps(std::string_view name) const {
    const auto& value = (*this)[name];
    return value.isTensor() ? value.toTensor() : at::Tensor();
  }

 private:
  const c10::FunctionSchema& schema_;
  const torch::jit::Stack& stack_;
};

/// With g the gradient of the normalised x, it is (g - mean(g) - x mean(g x)) / deviation, over
/// `dims` (Ioffe and Szegedy, "Batch normalization", 2015; of rows: Ba, Kiros and Hinton, "Layer
/// normalization", 2016).
at::Tensor largest_term(const at::Tensor& gradient, const at::Tensor& normalised,
                        const at::Tensor& reciprocal_deviation, at::IntArrayRef dims) {
  const auto of_mean = gradient.mean(dims, true).abs();
  const auto of_x = normalised.mul((gradient * normalised).mean(dims, true)).abs();
  return at::maximum(at::maximum(gradient.abs(), of_mean), of_x) * reciprocal_deviation;
}

at::Tensor of_layer_norm(const Arguments& in) {
  const auto weight = in.perhaps("weight");
  const auto gradient = weight.defined() ? in.tensor("grad_out") * weight : in.tensor("grad_out");
  std::vector<std::int64_t> dims(in["normalized_shape"].toListRef().size());
  std::iota(dims.begin(), dims.end(), -static_cast<std::int64_t>(dims.size()));
  const auto normalised = (in.tensor("input") - in.tensor("mean")) * in.tensor("rstd");
  return largest_term(gradient, normalised, in.tensor("rstd"), dims);
}

at::Tensor of_group_norm(const Arguments& in) {
  const auto input = in.tensor("input");
  const auto n = in.integer("N");
  const auto channels = in.integer("C");
  const auto groups = in.integer("group");
  const auto by_group = [&](const at::Tensor& tensor) {
    return tensor.reshape({n, groups, channels / groups, in.integer("HxW")});
  };
  const auto weight = in.perhaps("weight");
  auto gradient = by_group(in.tensor("grad_out"));
  if (weight.defined()) gradient = gradient * weight.view({1, groups, channels / groups, 1});
  const auto deviation = in.tensor("rstd").view({n, groups, 1, 1});
  const auto normalised = (by_group(input) - in.tensor("mean").view({n, groups, 1, 1})) * deviation;
  return largest_term(gradient, normalised, deviation, {2, 3}).view(input.sizes());
}

/// Where it counts itself: with means that were counted before nothing is subtracted.
std::optional<at::Tensor> of_batch_norm(const Arguments& in) {
  if (!in["train"].toBool()) return std::nullopt;
  const auto input = in.tensor("input");
  std::vector<std::int64_t> of_channels(static_cast<std::size_t>(input.dim()), 1);
  of_channels[1] = input.size(1);
  std::vector<std::int64_t> dims = {0};
  for (std::int64_t d = 2; d < input.dim(); ++d) dims.push_back(d);
  const auto weight = in.perhaps("weight");
  auto gradient = in.tensor("grad_out");
  if (weight.defined()) gradient = gradient * weight.view(of_channels);
  const auto deviation = in.tensor("save_invstd").view(of_channels);
  const auto normalised = (input - in.tensor("save_mean").view(of_channels)) * deviation;
  return largest_term(gradient, normalised, deviation, dims);
}

}  // namespace

std::optional<at::Tensor> size_of_activation_backward(std::string_view name,
                                                      const c10::FunctionSchema& schema,
                                                      const torch::jit::Stack& stack) {
  if (!is_one_of(name, {"gelu_backward", "mish_backward"})) return std::nullopt;
  const Arguments in(schema, stack);
  const auto gradient = in.tensor("grad_output").abs();
  const auto x = in.tensor("self").abs();
  if (name == "mish_backward") return gradient * (x + 1.0);
  if (in["approximate"].toStringRef() != "tanh") return gradient;
  return gradient * (x * (x.square() * 0.107 + 0.8) + 1.0);
}

std::optional<at::Tensor> size_of_difference_backward(std::string_view name,
                                                      const c10::FunctionSchema& schema,
                                                      const torch::jit::Stack& stack) {
  const Arguments in(schema, stack);
  const auto size = [&]() -> std::optional<at::Tensor> {
    if (name == "native_layer_norm_backward") return of_layer_norm(in);
    if (name == "native_group_norm_backward") return of_group_norm(in);
    if (name == "native_batch_norm_backward") return of_batch_norm(in);
    return std::nullopt;
  }();
  // Where a row has infinities, none of its numbers is known.
  return size ? std::optional(size->nan_to_num(0.0, 0.0, 0.0)) : std::nullopt;
}

}  // namespace ouroboros::judge
