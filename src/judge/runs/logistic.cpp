#include "judge/runs/logistic.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/sigmoid.h>

#include "judge/orders/arguments.hpp"

namespace ouroboros::judge {
namespace {

/// Two roundings of one, over the thirty-two that a move of 2^-30 stands for.
constexpr double of_one = 0x1p-4;

bool is_sigmoid(std::string_view name) { return is_one_of(name, {"sigmoid", "expit"}); }

bool has_sigmoid(std::string_view name) {
  return is_sigmoid(name) || is_one_of(name, {"silu", "glu", "silu_backward", "glu_backward"});
}

/// Whether a small error becomes a large one: of the `first` argument, of the `second`.
bool magnifies(std::string_view name, bool first, bool second) {
  if (is_one_of(name, {"div", "divide", "true_divide", "floor_divide", "remainder", "fmod", "atan2",
                       "xlogy", "xlog1py", "kl_div"})) {
    return second;
  }
  return first && is_one_of(name, {"log", "log2", "log10", "logit", "reciprocal", "rsqrt", "sqrt",
                                   "pow", "float_power", "norm", "linalg_vector_norm", "std",
                                   "std_mean", "cosine_similarity", "poisson_nll_loss",
                                   "binary_cross_entropy", "entr", "sign", "frexp"});
}

/// In the same units: two roundings, but never much more than there is of it.
at::Tensor lost_of(const at::Tensor& sigmoid, double roundoff) {
  return (sigmoid * (of_one / roundoff)).clamp_max_(of_one);
}

}  // namespace

void Logistic::meet(std::string_view name, std::span<const c10::IValue> given) {
  noted_ = has_sigmoid(name) || follows_.any(given);
  if (!noted_) return;
  const auto follows = [&](std::size_t i) { return follows_.any(given.subspan(i, 1)); };
  magnified_ =
      magnified_ || magnifies(name, !given.empty() && follows(0), given.size() > 1 && follows(1));
}

void Logistic::note(const c10::IValue& result) {
  if (noted_) follows_.note(result);
}

std::optional<at::Tensor> size_of_tanh_form(std::string_view name,
                                            const c10::FunctionSchema& schema,
                                            const torch::jit::Stack& stack, double roundoff) {
  if (!has_sigmoid(name)) return std::nullopt;
  const auto tensor = [&](std::string_view of) { return argument(of, schema, stack)->toTensor(); };
  const auto lost = [&](const at::Tensor& x) { return lost_of(at::sigmoid(x), roundoff); };
  // What is infinite times what nothing is lost of is no number.
  const auto times = [](const at::Tensor& size, const at::Tensor& of) {
    return (size * of.abs()).nan_to_num_(0.0, 0.0, 0.0);
  };
  const auto x = tensor("self");
  if (is_sigmoid(name)) return lost(x);
  if (name == "silu") return times(lost(x), x);
  if (name == "silu_backward") return times(lost(x) * (x.abs() + 1.0), tensor("grad_output"));
  if (name != "glu" || x.dim() == 0) return std::nullopt;
  const auto halves = x.chunk(2, argument("dim", schema, stack)->toInt());
  if (halves.size() != 2) return std::nullopt;  // Which it refuses.
  return times(lost(halves[1]), halves[0]);
}

}  // namespace ouroboros::judge
