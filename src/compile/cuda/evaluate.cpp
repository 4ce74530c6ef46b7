#include "compile/cuda/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

namespace ouroboros::cuda {
namespace {

using Kind = Expression::Kind;

constexpr std::uint64_t most_evaluated = std::uint64_t{1} << 20;  // Of one signature.

// Plans are read on the machines that wrote them, and those are little-endian.
static_assert(std::endian::native == std::endian::little);

template <typename Map>
std::string names(const Map& map) {
  std::string text;
  for (const auto& entry : map) {
    text += (text.empty() ? "" : ", ") + entry.first;
  }
  return text.empty() ? "none" : text;
}

/// Counts a term. Throws where there are too many.
void count(const Expression& term, const Scope& scope) {
  if (++scope.evaluated > most_evaluated) {
    throw SpecificationFault(term.at, fmt::format("more than {} terms", most_evaluated));
  }
}

[[noreturn]] void overflow(Position at, std::string_view what) {
  throw SpecificationFault(at, fmt::format("'{}' overflows 64 bits", what));
}

std::int64_t divide(std::int64_t left, std::int64_t right, Position at, std::string_view what) {
  if (right == 0) throw SpecificationFault(at, fmt::format("'{}' divides by zero", what));
  if (left == std::numeric_limits<std::int64_t>::min() && right == -1) overflow(at, what);
  const bool inexact = left % right != 0;
  return left / right - (inexact && (left < 0) != (right < 0) ? 1 : 0);
}

std::int64_t binary(const Expression& node, const Scope& scope) {
  const auto& op = node.text;
  const std::int64_t left = evaluate(node.children[0], scope);
  if (op == "and" && left == 0) return 0;
  if (op == "or" && left != 0) return 1;
  const std::int64_t right = evaluate(node.children[1], scope);
  if (op == "and" || op == "or") return right != 0 ? 1 : 0;
  if (op == "<") return left < right ? 1 : 0;
  if (op == "<=") return left <= right ? 1 : 0;
  if (op == ">") return left > right ? 1 : 0;
  if (op == ">=") return left >= right ? 1 : 0;
  if (op == "==") return left == right ? 1 : 0;
  if (op == "!=") return left != right ? 1 : 0;
  if (op == "/") return divide(left, right, node.at, op);
  std::int64_t result = 0;
  if (op == "%") {
    // The remainder of a division that rounds down has the divisor's sign.
    if (right == -1) return 0;
    return left - divide(left, right, node.at, op) * right;
  }
  const bool overflows = op == "+"   ? __builtin_add_overflow(left, right, &result)
                         : op == "-" ? __builtin_sub_overflow(left, right, &result)
                                     : __builtin_mul_overflow(left, right, &result);
  if (overflows) overflow(node.at, op);
  return result;
}

std::int64_t call(const Expression& node, const Scope& scope) {
  std::vector<std::int64_t> values;
  for (const auto& child : node.children) values.push_back(evaluate(child, scope));
  if (node.text == "min") return *std::min_element(values.begin(), values.end());
  if (node.text == "max") return *std::max_element(values.begin(), values.end());
  if (node.text == "cdiv") {
    const std::int64_t down = divide(values[0], values[1], node.at, node.text);
    // A quotient that was rounded is far from the largest number: adding one is safe.
    return down * values[1] == values[0] ? down : down + 1;
  }
  if (values[0] > std::int64_t{1} << 62) overflow(node.at, node.text);
  return values[0] <= 1
             ? 1
             : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(values[0])));
}

std::int64_t property(const Expression& node, const Scope& scope) {
  const auto& buffer = scope.buffer(node.text, node.at);
  if (node.member == "elements") return elements(buffer.shape, node.at);
  if (node.member == "bytes") return static_cast<std::int64_t>(buffer.bytes);
  const auto rank = static_cast<std::int64_t>(buffer.shape.size());
  const std::int64_t index = evaluate(node.children[0], scope);
  if (index < -rank || index >= rank) {
    throw SpecificationFault(node.at, fmt::format("'{}' has {} dimensions and none with number {}",
                                                  node.text, rank, index));
  }
  const auto at = static_cast<std::size_t>(index < 0 ? index + rank : index);
  return node.member == "shape" ? buffer.shape[at] : buffer.strides[at];
}

std::int64_t number_of(const Expression& node, const Scope& scope) {
  const auto found = scope.numbers.find(node.text);
  if (found != scope.numbers.end()) return found->second;
  if (scope.buffers.contains(node.text)) {
    throw SpecificationFault(
        node.at, fmt::format("'{}' is a buffer and no number: it has shape[i], stride[i], elements "
                             "and bytes",
                             node.text));
  }
  const auto real =
      scope.reals.empty() ? "" : fmt::format(", and the real numbers {}", names(scope.reals));
  throw SpecificationFault(
      node.at, fmt::format("'{}' is unknown here: there are the numbers {}{}, and the buffers {}; "
                           "let, scratch and state stand before what uses them, and macros and "
                           "constants of the code are not seen",
                           node.text, names(scope.numbers), real, names(scope.buffers)));
}

double real_of(const Expression& node, const Scope& scope) {
  const auto operand = [&](std::size_t i) { return evaluate_real(node.children[i], scope); };
  switch (node.kind) {
    case Kind::literal:
      return node.literal;
    case Kind::name: {
      const auto found = scope.reals.find(node.text);
      // A name that is real in one branch of an `if` may be an integer in the other.
      return found != scope.reals.end() ? found->second
                                        : static_cast<double>(number_of(node, scope));
    }
    case Kind::negate:
      return -operand(0);
    case Kind::call: {
      double result = operand(0);
      if (node.text == "sqrt") return std::sqrt(result);
      for (std::size_t i = 1; i < node.children.size(); ++i) {
        result = node.text == "min" ? std::min(result, operand(i)) : std::max(result, operand(i));
      }
      return result;
    }
    default:
      if (node.text == "+") return operand(0) + operand(1);
      if (node.text == "-") return operand(0) - operand(1);
      if (node.text == "*") return operand(0) * operand(1);
      return operand(0) / operand(1);
  }
}

template <typename T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <typename T>
std::vector<std::byte> integer(std::int64_t value, ElementType type, Position at) {
  if (!std::in_range<T>(value)) {
    throw SpecificationFault(at, fmt::format("{} does not fit into {}", value, to_string(type)));
  }
  return bytes_of(static_cast<T>(value));
}

/// The nearest number of 16 or 8 bits, of two the even one; empty beyond the largest.
std::optional<std::uint16_t> small_float(double value, ElementType type) {
  const int exponent_bits = type == ElementType::float16         ? 5
                            : type == ElementType::bfloat16      ? 8
                            : type == ElementType::float8_e4m3fn ? 4
                                                                 : 5;
  const int fraction_bits = 8 * static_cast<int>(size_of(type)) - 1 - exponent_bits;
  const bool has_infinity = type != ElementType::float8_e4m3fn;
  const std::uint32_t infinity = ((1U << exponent_bits) - 1) << fraction_bits;
  const std::uint32_t all_ones = (1U << (exponent_bits + fraction_bits)) - 1;
  const std::uint32_t largest = has_infinity ? infinity - 1 : all_ones - 1;

  const double size = std::fabs(value);
  std::uint32_t bits = 0;
  if (std::isnan(value)) {
    bits = has_infinity ? infinity | 1U << (fraction_bits - 1) : all_ones;
  } else if (std::isinf(value)) {
    if (!has_infinity) return std::nullopt;
    bits = infinity;
  } else if (size != 0.0) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = std::max(std::ilogb(size), 1 - bias);
    // With the leading one that a normal number has; rounding may carry into the exponent.
    const auto fraction =
        static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, fraction_bits - exponent)));
    bits = (static_cast<std::uint32_t>(exponent + bias - 1) << fraction_bits) + fraction;
    if (bits > largest) return std::nullopt;
  }
  const std::uint32_t sign = std::signbit(value) ? all_ones + 1 : 0;
  return static_cast<std::uint16_t>(sign | bits);
}

std::vector<std::byte> real(double value, ElementType type, Position at) {
  if (type == ElementType::float64) return bytes_of(value);
  const auto narrow = static_cast<float>(value);
  if (std::isinf(narrow) && !std::isinf(value)) {
    throw SpecificationFault(at, fmt::format("{} does not fit into {}", value, to_string(type)));
  }
  if (type == ElementType::float32) return bytes_of(narrow);
  const auto bits = small_float(value, type);
  if (!bits) {
    throw SpecificationFault(at, fmt::format("{} does not fit into {}", value, to_string(type)));
  }
  if (size_of(type) == 1) return bytes_of(static_cast<std::uint8_t>(*bits));
  return bytes_of(*bits);
}

}  // namespace

const BufferView& Scope::buffer(const std::string& name, Position at) const {
  const auto found = buffers.find(name);
  if (found == buffers.end()) {
    throw SpecificationFault(
        at, fmt::format("there is no buffer '{}': there are {}", name, names(buffers)));
  }
  return found->second;
}

std::int64_t elements(const std::vector<std::int64_t>& shape, Position at) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t product = 1;
  for (const auto extent : shape) {
    if (__builtin_mul_overflow(product, extent, &product)) overflow(at, "the element count");
  }
  return product;
}

std::int64_t evaluate(const Expression& expression, const Scope& scope) {
  count(expression, scope);
  switch (expression.kind) {
    case Kind::number:
      return expression.number;
    case Kind::large:
      throw SpecificationFault(
          expression.at,
          fmt::format("'{}' is beyond what int64 holds: it may be a value of uint64, by itself",
                      expression.text));
    case Kind::name:
      return number_of(expression, scope);
    case Kind::property:
      return property(expression, scope);
    case Kind::size:
      return size_of(resolve(expression.type, scope.dtype));
    case Kind::call:
      return call(expression, scope);
    case Kind::negate: {
      const std::int64_t value = evaluate(expression.children[0], scope);
      if (value == std::numeric_limits<std::int64_t>::min()) overflow(expression.at, "-");
      return -value;
    }
    case Kind::invert:
      return evaluate(expression.children[0], scope) == 0 ? 1 : 0;
    case Kind::binary:
      return binary(expression, scope);
    case Kind::literal:
      break;  // The parser has none where integers belong.
  }
  return 0;
}

double evaluate_real(const Expression& expression, const Scope& scope) {
  if (!expression.real) return static_cast<double>(evaluate(expression, scope));
  count(expression, scope);
  return real_of(expression, scope);
}

std::vector<std::byte> encode(const Expression& value, ElementType type, const Scope& scope,
                              Position at) {
  if (value.real) {
    const double number = evaluate_real(value, scope);
    if (is_floating(type)) return real(number, type, at);
    throw SpecificationFault(at, fmt::format("{} is no {}", number, to_string(type)));
  }
  if (value.kind == Kind::large && type == ElementType::uint64) return bytes_of(value.number);
  const std::int64_t number = evaluate(value, scope);
  switch (type) {
    case ElementType::boolean:
      if (number == 0 || number == 1) return bytes_of(static_cast<std::uint8_t>(number));
      throw SpecificationFault(at, fmt::format("{} is no bool: only 0 and 1 are", number));
    case ElementType::int8:
      return integer<std::int8_t>(number, type, at);
    case ElementType::uint8:
      return integer<std::uint8_t>(number, type, at);
    case ElementType::int32:
      return integer<std::int32_t>(number, type, at);
    case ElementType::uint32:
      return integer<std::uint32_t>(number, type, at);
    case ElementType::int64:
      return integer<std::int64_t>(number, type, at);
    case ElementType::uint64:
      return integer<std::uint64_t>(number, type, at);
    default:
      return real(static_cast<double>(number), type, at);
  }
}

}  // namespace ouroboros::cuda
