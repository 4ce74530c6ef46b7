#include "judge/observed/dot_products.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>

#include <algorithm>
#include <utility>

#include "judge/orders/arguments.hpp"

namespace ouroboros::judge {

std::optional<DotProducts::Factors> DotProducts::meet(std::string_view name,
                                                      std::span<const c10::IValue> arguments) {
  if (!is_one_of(name, {"mm", "bmm", "matmul"})) return std::nullopt;
  const auto& first = arguments[0].toTensor();
  const auto& second = arguments[1].toTensor();
  if (first.scalar_type() != at::kDouble || second.scalar_type() != at::kDouble) {
    return std::nullopt;
  }
  return Factors{first, second};
}

void DotProducts::note(Factors factors, const at::Tensor& product) {
  products_.note(product, std::move(factors));
}

void DotProducts::forget(const at::Tensor& tensor) { products_.forget(tensor); }

at::Tensor DotProducts::size_of_terms(const c10::IValue& product) const {
  const auto* factors = products_.find_reshaped(product);
  if (factors == nullptr) return {};
  // The roundings of a difference are those of so many terms, and grow as the root of more.
  constexpr double terms = 16;
  const double more = std::max(1.0, static_cast<double>(factors->first.size(-1)) / terms);
  return at::matmul(factors->first.square(), factors->second.square())
      .mul_(more)
      .sqrt_()
      .nan_to_num_(0.0, 0.0, 0.0)
      .reshape(product.toTensor().sizes());
}

std::optional<DotProducts::Sums> DotProducts::sums(std::string_view name,
                                                   const c10::FunctionSchema& schema,
                                                   const torch::jit::Stack& stack) const {
  if (name != "_softmax_backward_data") return std::nullopt;
  const auto terms = size_of_terms(*argument("grad_output", schema, stack));
  if (!terms.defined()) return std::nullopt;
  const auto probabilities = argument("output", schema, stack)->toTensor();
  const auto dim = argument("dim", schema, stack)->toInt();
  return Sums{(probabilities * terms).sum(dim, /*keepdim=*/true), probabilities};
}

std::optional<at::Tensor> DotProducts::size_of(std::string_view name,
                                               const c10::FunctionSchema& schema,
                                               const torch::jit::Stack& stack) const {
  const auto of = [&](std::string_view wanted) {
    return size_of_terms(*argument(wanted, schema, stack));
  };
  if (const auto taken = sums(name, schema, stack)) {
    return taken->share * at::maximum(of("grad_output"), taken->size);
  }
  if (!is_one_of(name, {"sub", "rsub"})) return std::nullopt;
  const auto first = of("self");
  const auto second = of("other");
  if (!first.defined() && !second.defined()) return std::nullopt;
  return !second.defined() ? first : !first.defined() ? second : at::maximum(first, second);
}

}  // namespace ouroboros::judge
