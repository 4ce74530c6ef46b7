#include "judge/orders/attention.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "judge/orders/arguments.hpp"
#include "judge/orders/given.hpp"

namespace ouroboros::judge {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensors of_heads(const Given& given) {
  const auto query = given.tensor("query");
  auto mask = given.optional("attn_mask");
  if (mask && mask->scalar_type() == at::kBool) {
    // Which the whole operator makes of bools. Its parts would add them as ones.
    mask = at::zeros(mask->sizes(), query.options()).masked_fill_(mask->logical_not(), -infinity);
  }
  const auto* scale = given.value("scale");
  const auto made = at::_scaled_dot_product_attention_math(
      query, given.tensor("key"), given.tensor("value"), mask, given.number("dropout_p", 0.0),
      given.flag("is_causal"), std::nullopt,
      scale == nullptr ? std::nullopt : std::optional(scale->toDouble()), given.flag("enable_gqa"));
  return {std::get<0>(made)};
}

/// Of batch x length x width: queries, keys and values are all made of `x`, by one matrix. Gives
/// what is attended to, and the weights of each head: batch x heads x length x length.
std::pair<at::Tensor, at::Tensor> attend(const Given& given, std::int64_t heads,
                                         const at::Tensor& x) {
  const auto batch = x.size(0);
  const auto length = x.size(1);
  const auto head = x.size(2) / heads;
  const auto parts =
      at::linear(x, given.tensor("qkv_weight"), given.tensor("qkv_bias")).chunk(3, -1);
  const auto split = [&](const at::Tensor& one) {
    return one.reshape({batch, length, heads, head}).transpose(1, 2);
  };
  const auto query = split(parts[0]) / std::sqrt(static_cast<double>(head));
  auto scores = at::matmul(query, split(parts[1]).transpose(-2, -1));
  if (const auto mask = given.optional("mask")) {
    constexpr std::int64_t of_keys = 1;
    const auto left_out = mask->to(at::kBool);
    const bool padding = given.whole("mask_type", 0) == of_keys;
    scores.masked_fill_(padding ? left_out.reshape({batch, 1, 1, length}) : left_out, -infinity);
  }
  const auto weights = at::softmax(scores, -1);
  const auto together =
      at::matmul(weights, split(parts[2])).transpose(1, 2).reshape({batch, length, x.size(2)});
  return {at::linear(together, given.tensor("proj_weight"), given.tensor("proj_bias")), weights};
}

Tensors of_module(const Given& given) {
  const auto [made, weights] = attend(given, given.whole("num_head", 1), given.tensor("query"));
  if (!given.flag("need_weights")) return {made, at::Tensor()};
  return {made, given.flag("average_attn_weights") ? weights.mean(1) : weights};
}

Tensors of_layer(const Given& given) {
  const auto normalised = [&](const at::Tensor& x, const char* weight, const char* bias) {
    constexpr double usual_eps = 1e-5;
    return at::layer_norm(x, {x.size(-1)}, given.tensor(weight), given.tensor(bias),
                          given.number("eps", usual_eps));
  };
  const auto first = [&](const at::Tensor& x) {
    return normalised(x, "norm_weight_1", "norm_bias_1");
  };
  const auto second = [&](const at::Tensor& x) {
    return normalised(x, "norm_weight_2", "norm_bias_2");
  };
  const auto attended = [&](const at::Tensor& x) {
    return attend(given, given.whole("num_heads", 1), x).first;
  };
  const auto forwarded = [&](const at::Tensor& x) {
    const auto inner = at::linear(x, given.tensor("ffn_weight_1"), given.tensor("ffn_bias_1"));
    // By cuBLAS' epilogue on a GPU, which knows no other.
    const auto gelu = [&] { return at::gelu(inner, inner.is_cuda() ? "tanh" : "none"); };
    return at::linear(given.flag("use_gelu") ? gelu() : at::relu(inner),
                      given.tensor("ffn_weight_2"), given.tensor("ffn_bias_2"));
  };
  const auto src = given.tensor("src");
  if (given.flag("norm_first")) {
    const auto x = src + attended(first(src));
    return {x + forwarded(second(x))};
  }
  const auto x = first(src + attended(src));
  return {second(x + forwarded(x))};
}

}  // namespace

bool has_attention(std::string_view name, const c10::FunctionSchema& schema,
                   const torch::jit::Stack& stack) {
  const auto given = std::span(stack).last(schema.arguments().size());
  if (std::ranges::any_of(given, [](const c10::IValue& value) {
        return value.isTensor() && value.toTensor().is_nested();
      })) {
    return false;
  }
  if (name == "_native_multi_head_attention") {
    const auto& query = given[0].toTensor();
    return query.is_same(given[1].toTensor()) && query.is_same(given[2].toTensor());
  }
  return is_one_of(name, {"scaled_dot_product_attention", "_transformer_encoder_layer_fwd"});
}

Tensors attention_by_parts(std::string_view name, const c10::FunctionSchema& schema,
                           const torch::jit::Stack& stack) {
  const Given given(schema, stack, 0);
  if (name == "scaled_dot_product_attention") return of_heads(given);
  return name == "_native_multi_head_attention" ? of_module(given) : of_layer(given);
}

}  // namespace ouroboros::judge
