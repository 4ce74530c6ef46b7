#include "judge/orders/loops.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/enum_tag.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/binary_cross_entropy.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/kl_div.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/nll_loss_nd.h>
#include <ATen/ops/smooth_l1_loss.h>
#include <ATen/ops/soft_margin_loss.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "judge/orders/arguments.hpp"
#include "judge/orders/backward_loops.hpp"
#include "judge/orders/given.hpp"
#include "judge/orders/rows.hpp"
#include "judge/orders/sums.hpp"

namespace ouroboros::judge {
namespace {

using Results = std::vector<at::Tensor>;

at::Tensor scaled(at::Tensor x, const at::Tensor& weight, const at::Tensor& bias) {
  if (weight.defined()) x = x * weight;
  return bias.defined() ? x + bias : x;
}

/// exp(x - max x) and max x; a row of infinities alone has differences of zero.
std::pair<at::Tensor, at::Tensor> exponentials(const at::Tensor& x, const Extents& dims) {
  const auto top = x.amax(dims, true);
  const auto finite =
      at::where(top.abs() == std::numeric_limits<double>::infinity(), at::Scalar(0.0), top);
  return {(x - finite).exp(), finite};
}

template <typename T>
void add_online(const T* scores, T* sums, std::int64_t rows, std::int64_t count) {
  for (std::int64_t row = 0; row < rows; ++row, scores += count) {
    T sum = 0;
    T top = -std::numeric_limits<T>::infinity();
    for (std::int64_t i = 0; i < count; ++i) {
      const auto next = std::max(top, scores[i]);
      sum = next == top ? sum + std::exp(scores[i] - top) : sum * std::exp(top - next) + 1;
      top = next;
    }
    sums[row] = sum;
  }
}

/// The sums of exp(x - max x). In the last order the maximum is not known before, but followed, and
/// what was added up so far scaled whenever it grows.
at::Tensor exponential_sums(const at::Tensor& x, const at::Tensor& away, const Extents& dims,
                            int order) {
  if (!in_one_pass(x, order)) return sums(away.exp(), dims, order);
  const auto rows = rows_of(x, dims);
  auto out = at::empty(rows.kept, x.options());
  const auto count = count_of(x, dims);
  if (x.scalar_type() == at::kFloat) {
    add_online(rows.terms.const_data_ptr<float>(), out.mutable_data_ptr<float>(), out.numel(),
               count);
  } else {
    add_online(rows.terms.const_data_ptr<double>(), out.mutable_data_ptr<double>(), out.numel(),
               count);
  }
  return out;
}

at::Tensor log_softmax(const at::Tensor& x, const Extents& dims, int order) {
  // As it stands in the row: what is infinite is none of the others' business.
  const auto top = x.amax(dims, true);
  const auto away = x - top;
  return away - exponential_sums(x, away, dims, order).log();
}

/// Normalised over the dimensions `dims`.
at::Tensor normalised(const at::Tensor& x, const Extents& dims, double eps, int order) {
  const auto [mean, variance] = moments(x, dims, 0.0, order);
  return (x - mean) * (variance + eps).rsqrt();
}

Extents last_dims(const at::Tensor& x, std::size_t count) {
  Extents dims(count);
  std::iota(dims.begin(), dims.end(), x.dim() - static_cast<std::int64_t>(count));
  return dims;
}

/// A parameter for each channel, which is the second dimension of `x`.
at::Tensor for_channels(const at::Tensor& parameter, const at::Tensor& x) {
  if (!parameter.defined()) return parameter;
  Extents shape(static_cast<std::size_t>(x.dim()), 1);
  shape[1] = x.size(1);
  return parameter.view(shape);
}

std::optional<at::Tensor> norm(const Given& given, const at::Tensor& x) {
  const auto power = given.number("p", given.number("ord", 2.0));
  const auto dims = given.dims(x);
  at::Tensor made;
  if (power == 2.0) {
    made = sums(x.square(), dims, given.order).sqrt();
  } else if (power == 1.0) {
    made = sums(x.abs(), dims, given.order);
  } else {
    return std::nullopt;
  }
  return without(made, dims, given.flag("keepdim"));
}

/// The terms of a loss, one for each element.
std::optional<at::Tensor> terms_of_loss(std::string_view name, const Given& given,
                                        const at::Tensor& x) {
  constexpr std::int64_t none = 0;
  const auto target = given.tensor("target");
  if (!target.defined()) return std::nullopt;
  if (name == "mse_loss") return at::mse_loss(x, target, none);
  if (name == "l1_loss") return at::l1_loss(x, target, none);
  if (name == "smooth_l1_loss") {
    return at::smooth_l1_loss(x, target, none, given.number("beta", 1.0));
  }
  if (name == "huber_loss") return at::huber_loss(x, target, none, given.number("delta", 1.0));
  if (name == "kl_div") return at::kl_div(x, target, none, given.flag("log_target"));
  if (name == "soft_margin_loss") return at::soft_margin_loss(x, target, none);
  if (name == "binary_cross_entropy") {
    return at::binary_cross_entropy(x, target, given.optional("weight"), none);
  }
  if (name == "binary_cross_entropy_with_logits") {
    return at::binary_cross_entropy_with_logits(x, target, given.optional("weight"),
                                                given.optional("pos_weight"), none);
  }
  return std::nullopt;
}

/// A tensor's elements, added up or averaged as `reduction` says: 1 is the mean, 2 the sum.
at::Tensor reduced(const at::Tensor& terms, std::int64_t reduction, int order) {
  const auto flat = terms.reshape({-1});
  const auto sum = sums(flat, {0}, order).reshape({});
  return reduction == 1 ? sum / flat.numel() : sum;
}

/// Losses whose targets are classes; the inner form of one returns how many were not ignored, too.
std::optional<Results> losses_of_classes(std::string_view name, const Given& given,
                                         const at::Tensor& x) {
  const auto target = given.tensor("target");
  const bool inner = is_one_of(name, {"nll_loss_forward", "nll_loss2d_forward"});
  const bool ready = inner || name == "nll_loss_nd";
  if (!(ready || name == "cross_entropy_loss") || !target.defined() ||
      target.scalar_type() != at::kLong || given.value("weight") != nullptr ||
      given.number("label_smoothing", 0.0) != 0.0) {
    return std::nullopt;
  }
  const auto reduction = given.whole("reduction", 1);
  const auto ignored = given.whole("ignore_index", -100);
  const auto chances = ready ? x : log_softmax(x, {x.dim() == 1 ? 0 : 1}, given.order);
  Results made{at::nll_loss_nd(chances, target, std::nullopt, 0, ignored)};
  const auto count = target.ne(ignored).sum();
  if (reduction != 0) {
    made[0] = reduced(made[0], 2, given.order);
    if (reduction == 1) made[0] = made[0] / count;
  }
  if (inner) made.push_back(count.to(x.scalar_type()));
  return made;
}

/// Block by block: each from `none`, and put together with what came before it afterwards.
template <typename T, typename Joined>
void run_along(const T* terms, T* results, std::int64_t rows, std::int64_t count,
               std::int64_t block, T none, Joined joined) {
  for (std::int64_t row = 0; row < rows; ++row, terms += count, results += count) {
    T before = none;
    for (std::int64_t first = 0; first < count; first += block) {
      const auto end = std::min(first + block, count);
      T result = none;
      for (std::int64_t i = first; i < end; ++i) {
        result = joined(result, terms[i]);
        results[i] = joined(before, result);
      }
      before = joined(before, result);
    }
  }
}

/// log(exp(a) + exp(b)).
template <typename T>
T log_of_sum(T a, T b) {
  constexpr T none = -std::numeric_limits<T>::infinity();
  if (a == none) return b;
  if (b == none) return a;
  if (!std::isfinite(a) || !std::isfinite(b)) return a + b;
  return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
}

template <typename T>
void run_along(std::string_view name, const T* terms, T* results, std::int64_t rows,
               std::int64_t count, std::int64_t block) {
  if (name == "cumsum") return run_along(terms, results, rows, count, block, T{0}, std::plus<T>());
  if (name == "cumprod") {
    return run_along(terms, results, rows, count, block, T{1}, std::multiplies<T>());
  }
  run_along(terms, results, rows, count, block, -std::numeric_limits<T>::infinity(), log_of_sum<T>);
}

/// Running sums, products, or logarithms of sums of exponentials.
at::Tensor running(std::string_view name, const at::Tensor& x, std::int64_t dim, int order) {
  const auto terms = x.movedim(dim, -1).contiguous();
  auto out = at::empty(terms.sizes(), terms.options());
  const auto count = terms.size(-1);
  const auto rows = count == 0 ? 0 : terms.numel() / count;
  // All at once, then in blocks of 1024, 128 and 16.
  const auto block =
      order == 0 ? std::max<std::int64_t>(count, 1) : std::int64_t{8192} >> 3 * order;
  if (x.scalar_type() == at::kFloat) {
    run_along(name, terms.const_data_ptr<float>(), out.mutable_data_ptr<float>(), rows, count,
              block);
  } else {
    run_along(name, terms.const_data_ptr<double>(), out.mutable_data_ptr<double>(), rows, count,
              block);
  }
  return out.movedim(-1, dim);
}

/// Sums, means, products, variances and norms over some dimensions.
std::optional<Results> reductions(std::string_view name, const Given& given, const at::Tensor& x) {
  const auto dims = given.dims(x);
  const bool keep = given.flag("keepdim");
  const auto shaped = [&](const at::Tensor& made) { return without(made, dims, keep); };
  if (name == "sum") return Results{shaped(sums(x, dims, given.order))};
  if (name == "mean") return Results{shaped(means(x, dims, given.order))};
  if (name == "prod") return Results{shaped(plain_products(x, dims, given.order))};
  if (name == "logsumexp") {
    const auto [away, top] = exponentials(x, dims);
    return Results{shaped(sums(away, dims, given.order).log() + top)};
  }
  if (is_one_of(name, {"var", "std", "var_mean", "std_mean"})) {
    const auto* unbiased = given.value("unbiased");
    const double correction = unbiased != nullptr && unbiased->isBool()
                                  ? static_cast<double>(unbiased->toBool())
                                  : given.number("correction", 1.0);
    const auto [mean, variance] = moments(x, dims, correction, given.order);
    Results made{shaped(name.starts_with("std") ? variance.sqrt() : variance)};
    if (name.ends_with("mean")) made.push_back(shaped(mean));
    return made;
  }
  if (is_one_of(name, {"norm", "linalg_vector_norm", "frobenius_norm"})) {
    const auto made = norm(given, x);
    return made ? std::optional(Results{*made}) : std::nullopt;
  }
  return std::nullopt;
}

/// Operators that normalise.
std::optional<at::Tensor> normalisations(std::string_view name, const Given& given,
                                         const at::Tensor& x) {
  const auto weight = given.tensor("weight");
  const auto bias = given.tensor("bias");
  const double eps = given.number("eps", 0.0);
  if (is_one_of(name, {"softmax", "_safe_softmax"})) {
    const auto dims = given.dims(x);
    const auto away = x - x.amax(dims, true);
    return away.exp() / exponential_sums(x, away, dims, given.order);
  }
  if (name == "log_softmax") return log_softmax(x, given.dims(x), given.order);
  if (name == "layer_norm") {
    const auto dims = last_dims(x, given.extents("normalized_shape").size());
    return scaled(normalised(x, dims, eps, given.order), weight, bias);
  }
  if (name == "rms_norm") {
    const auto dims = last_dims(x, given.extents("normalized_shape").size());
    const double least = given.number("eps", x.scalar_type() == at::kFloat ? 0x1p-23 : 0x1p-52);
    return scaled(x * (means(x.square(), dims, given.order) + least).rsqrt(), weight, {});
  }
  if (name == "group_norm") {
    const auto groups = given.whole("num_groups", 1);
    const auto grouped = x.reshape({x.size(0), groups, -1});
    return scaled(normalised(grouped, {2}, eps, given.order).view(x.sizes()),
                  for_channels(weight, x), for_channels(bias, x));
  }
  const bool by_batch = name == "batch_norm" && given.flag("training");
  if (by_batch || (name == "instance_norm" && given.flag("use_input_stats"))) {
    auto dims = last_dims(x, static_cast<std::size_t>(x.dim() - 2));
    if (by_batch) dims.insert(dims.begin(), 0);
    return scaled(normalised(x, dims, eps, given.order), for_channels(weight, x),
                  for_channels(bias, x));
  }
  return std::nullopt;
}

/// Integers add up without an error.
bool has_only_integers(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  const auto given = torch::jit::last(stack, schema.arguments().size());
  bool any = false;
  for (const auto& value : given) {
    if (value.isTensorList()) return false;
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    if (!at::isIntegralType(value.toTensor().scalar_type(), true)) return false;
    any = true;
  }
  return any;
}

}  // namespace

std::optional<Results> by_loop(std::string_view name, const c10::FunctionSchema& schema,
                               const torch::jit::Stack& stack, int order) {
  if (schema.arguments().empty()) return std::nullopt;
  const auto& first = stack[stack.size() - schema.arguments().size()];
  if (!first.isTensor() || !can_be_added(first.toTensor())) return std::nullopt;
  const auto& x = first.toTensor();
  const Given given(schema, stack, order);
  if (const auto made = reductions(name, given, x)) return made;
  if (const auto made = normalisations(name, given, x)) return Results{*made};
  if (is_one_of(name, {"cumsum", "cumprod", "logcumsumexp"})) {
    return Results{running(name, x, given.dims(x).front(), order)};
  }
  if (const auto made = losses_of_classes(name, given, x)) return made;
  if (const auto made = backward_by_loop(name, given)) return made;
  if (const auto terms = terms_of_loss(name, given, x)) {
    const auto reduction = given.whole("reduction", 1);
    return Results{reduction == 0 ? *terms : reduced(*terms, reduction, order)};
  }
  return std::nullopt;
}

bool adds_nothing(std::string_view name, const c10::OperatorHandle& op,
                  const torch::jit::Stack& stack) {
  if (name.empty()) return false;
  if (op.hasTag(at::Tag::pointwise) || has_only_integers(op.schema(), stack)) return true;
  const auto& schema = op.schema();
  if (is_view(schema)) return true;
  if (name == "batch_norm") {
    const auto* training = argument("training", schema, stack);
    return training != nullptr && training->isBool() && !training->toBool();
  }
  if (name.ends_with("_like") || name.starts_with("new_") || name.starts_with("empty")) return true;
  return is_one_of(name, {"_to_copy",
                          "_unsafe_view",
                          "arange",
                          "linspace",
                          "zeros",
                          "ones",
                          "full",
                          "eye",
                          "scalar_tensor",
                          "copy",
                          "fill",
                          "zero",
                          "cat",
                          "concat",
                          "stack",
                          "hstack",
                          "vstack",
                          "index",
                          "index_select",
                          "index_put",
                          "index_copy",
                          "index_fill",
                          "gather",
                          "take",
                          "take_along_dim",
                          "scatter",
                          "embedding",
                          "one_hot",
                          "where",
                          "masked_fill",
                          "masked_scatter",
                          "max",
                          "min",
                          "amax",
                          "amin",
                          "aminmax",
                          "argmax",
                          "argmin",
                          "cummax",
                          "cummin",
                          "topk",
                          "sort",
                          "argsort",
                          "kthvalue",
                          "median",
                          "all",
                          "any",
                          "item",
                          "_local_scalar_dense",
                          "tril",
                          "triu",
                          "roll",
                          "flip",
                          "repeat",
                          "repeat_interleave",
                          "tile",
                          "pad",
                          "constant_pad_nd",
                          "max_pool1d",
                          "max_pool2d",
                          "max_pool3d",
                          "max_pool2d_with_indices",
                          "max_pool3d_with_indices",
                          "adaptive_max_pool1d",
                          "adaptive_max_pool2d",
                          "adaptive_max_pool3d",
                          "im2col",
                          "cross",
                          "linalg_cross",
                          "glu",
                          "hardswish",
                          "log_sigmoid",
                          "prelu",
                          "pixel_shuffle",
                          "pixel_unshuffle",
                          "upsample_nearest1d",
                          "upsample_nearest2d",
                          "upsample_nearest3d",
                          "bucketize",
                          "searchsorted",
                          "outer",
                          "dropout"});
}

}  // namespace ouroboros::judge
