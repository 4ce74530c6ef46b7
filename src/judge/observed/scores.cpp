#include "judge/observed/scores.hpp"

#include <ATen/core/Tensor.h>

#include "judge/orders/arguments.hpp"
#include "judge/orders/products.hpp"

namespace ouroboros::judge {

bool takes_exponentials(std::string_view name) {
  return is_one_of(name, {"exp", "exp2", "expm1", "sinh", "cosh", "softmax", "_softmax",
                          "log_softmax", "_log_softmax", "logsumexp", "logcumsumexp", "logaddexp",
                          "logaddexp2", "cross_entropy_loss"});
}

Scores::Scores(const Problem& problem, const Tensors& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!problem.inputs[i].parameter && inputs[i].is_floating_point()) inputs_.note(inputs[i]);
  }
}

Scores::Kind Scores::meet(std::string_view name, std::span<const c10::IValue> arguments) {
  std::size_t factors = 0;
  const auto count = [&](const c10::IValue& value) { factors += inputs_.any({&value, 1}) ? 1 : 0; };
  for (const auto& argument : arguments) {
    if (!argument.isTensorList()) {
      count(argument);
      continue;
    }
    for (const auto& tensor : argument.toTensorVector()) count(c10::IValue(tensor));
  }
  const bool of_products = products_.any(arguments);
  const bool attends = name == "scaled_dot_product_attention" && factors >= 2;
  any_ = any_ || attends || (takes_exponentials(name) && of_products);
  if (factors == 0) return Kind::constant;
  return of_products || (multiplies_matrices(name) && factors >= 2) ? Kind::product : Kind::input;
}

void Scores::note(const c10::IValue& result, Kind kind) {
  if (kind == Kind::constant) return;
  inputs_.note(result);
  if (kind == Kind::product) products_.note(result);
}

}  // namespace ouroboros::judge
