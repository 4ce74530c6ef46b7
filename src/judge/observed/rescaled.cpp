#include "judge/observed/rescaled.hpp"

#include <cmath>

#include "judge/observed/unmoved.hpp"
#include "judge/orders/arguments.hpp"

namespace ouroboros::judge {
namespace {

/// Whether an operator, which may copy them, returns numbers that it is given, but for their sign.
bool passes_numbers_on(std::string_view name, const c10::FunctionSchema& schema,
                       const torch::jit::Stack& stack) {
  return !schema.is_mutable() && !is_one_of(name, {"frexp", "ldexp"}) &&
         (is_choice(name, schema, stack) || is_one_of(name, {"to", "_to_copy", "type_as"}));
}

bool mixes(std::string_view name) {
  return is_one_of(name, {"relu", "relu6", "hardtanh", "clamp", "clamp_max", "clamp_min", "clip",
                          "maximum", "minimum", "fmax", "fmin", "where", "hardshrink", "threshold",
                          "masked_fill", "masked_scatter", "index_fill"});
}

/// Not what says where something is, or whether.
bool is_number(Values values) {
  return values == Values::real || values == Values::positive || values == Values::angle;
}

}  // namespace

std::vector<double> Rescaled::Origin::sources(double value) const {
  const double number = value / factor;
  if (!magnitude) return {number};
  if (number < 0.0) return {};
  return {number, -number};
}

std::optional<Rescaled::Origin> Rescaled::of(const at::Tensor& tensor) const {
  if (const auto* known = known_.find(tensor)) return *known;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (is_number(problem_.inputs[i].values) && tensor.scalar_type() != at::kBool &&
        inputs_[i].is_alias_of(tensor)) {
      return Origin{.input = i};
    }
  }
  return std::nullopt;
}

std::optional<Rescaled::Origin> Rescaled::meet(std::string_view name,
                                               const c10::FunctionSchema& schema,
                                               const torch::jit::Stack& stack) const {
  const auto arguments = std::span(stack).last(schema.arguments().size());
  if (is_one_of(name, {"mul", "div"})) {
    const auto number = arguments.size() == 2 ? constant(arguments[1]) : std::nullopt;
    auto origin = number && is_power_of_two(*number) ? of_first(arguments.first(1)) : std::nullopt;
    if (origin) origin->factor *= name == "mul" ? *number : 1.0 / *number;
    return origin;
  }
  if (!passes_numbers_on(name, schema, stack)) {
    const auto* known = is_view(schema) ? known_.find(arguments[0]) : nullptr;
    return known == nullptr ? std::nullopt : std::optional(*known);
  }
  auto origin = of_first(arguments);
  if (!origin) return std::nullopt;
  if (is_one_of(name, {"abs", "absolute"})) {
    origin->magnitude = true;
    origin->factor = std::fabs(origin->factor);
  } else if (is_one_of(name, {"neg", "negative"})) {
    origin->factor = -origin->factor;
  }
  origin->alone = origin->alone && !mixes(name);
  return origin;
}

std::optional<Rescaled::Origin> Rescaled::of_first(std::span<const c10::IValue> values) const {
  for (const auto& value : values) {
    if (value.isTensor() && value.toTensor().defined()) {
      if (auto found = of(value.toTensor())) return found;
    } else if (value.isTensorList()) {
      for (const at::Tensor& one : value.toTensorVector()) {
        if (auto found = of(one)) return found;
      }
    }
  }
  return std::nullopt;
}

}  // namespace ouroboros::judge
