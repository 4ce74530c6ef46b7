#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compile/cuda/specification.hpp"
#include "ouroboros/launch_plan.hpp"

namespace ouroboros::cuda {

/// A buffer as expressions see it.
struct BufferView {
  std::uint32_t index = 0;  ///< In the plan.
  ElementType type = ElementType::dtype;
  std::uint64_t bytes = 0;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

/// What names stand for: numbers, and buffers.
struct Scope {
  DType dtype = DType::float32;
  std::map<std::string, std::int64_t, std::less<>> numbers;
  std::map<std::string, double, std::less<>> reals;
  std::map<std::string, BufferView, std::less<>> buffers;
  mutable std::uint64_t evaluated = 0;  ///< Terms so far: hostile sources loop over long ones.

  /// Throws `SpecificationFault` that lists the buffers.
  [[nodiscard]] const BufferView& buffer(const std::string& name, Position at) const;
};

/// The number of elements of a shape. Throws `SpecificationFault` when it overflows.
[[nodiscard]] std::int64_t elements(const std::vector<std::int64_t>& shape, Position at);

/// Checked arithmetic of 64 bits: unknown names, overflow and division by zero throw
/// `SpecificationFault` at the operator. Comparisons give 1 or 0; division rounds down.
[[nodiscard]] std::int64_t evaluate(const Expression& expression, const Scope& scope);

/// The same in float64, as IEEE 754 has it: where a tensor is empty, `1.0 / cols` is infinite.
/// Parts without a real number are integers still.
[[nodiscard]] double evaluate_real(const Expression& expression, const Scope& scope);

/// The bytes of a number as a value of `type`, which is not `dtype`, little-endian. Throws
/// `SpecificationFault` when the type does not hold it.
[[nodiscard]] std::vector<std::byte> encode(const Expression& value, ElementType type,
                                            const Scope& scope, Position at);

}  // namespace ouroboros::cuda
