#include "judge/rescaled.hpp"

#include <cmath>

#include "judge/arguments.hpp"

namespace ouroboros::judge {
namespace {

bool is_power_of_two(double number) {
  int exponent = 0;
  return std::isfinite(number) && std::fabs(std::frexp(number, &exponent)) == 0.5;
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
    if (problem_.inputs[i].values == Values::real && inputs_[i].is_alias_of(tensor)) {
      return Origin{.input = i};
    }
  }
  return std::nullopt;
}

std::optional<Rescaled::Origin> Rescaled::meet(std::string_view name,
                                               std::span<const c10::IValue> arguments) const {
  if (arguments.empty() || !arguments[0].isTensor() || !arguments[0].toTensor().defined()) {
    return std::nullopt;
  }
  auto origin = of(arguments[0].toTensor());
  if (!origin || is_one_of(name, {"to", "_to_copy", "type_as", "clone", "contiguous"})) {
    return origin;
  }
  if (is_one_of(name, {"abs", "absolute"})) {
    origin->magnitude = true;
    origin->factor = std::fabs(origin->factor);
    return origin;
  }
  if (is_one_of(name, {"neg", "negative"})) {
    origin->factor = -origin->factor;
    return origin;
  }
  if (!is_one_of(name, {"mul", "div"}) || arguments.size() != 2) return std::nullopt;
  const auto number = constant(arguments[1]);
  if (!number || !is_power_of_two(*number)) return std::nullopt;
  origin->factor *= name == "mul" ? *number : 1.0 / *number;
  return origin;
}

}  // namespace ouroboros::judge
