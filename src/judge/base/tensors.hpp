#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ouroboros/dtype.hpp"
#include "ouroboros/problem.hpp"

/// Between the library's vocabulary and LibTorch's.
namespace ouroboros::judge {

/// LibTorch's operators work on parts of this many elements, which bounds the memory for the steps
/// in between.
inline constexpr std::int64_t elements_at_once = 1 << 24;

/// The inverse of `scalar_type`; empty for a type that buffers cannot hold.
[[nodiscard]] std::optional<DType> dtype_of(at::ScalarType type) noexcept;

/// What the numbers of a floating type are.
struct Format {
  double epsilon;       ///< The distance of 1 from the next number.
  int lowest_exponent;  ///< Of a normal number.
};

[[nodiscard]] Format format_of(DType dtype) noexcept;

/// float16 and bfloat16, which references may compute in themselves.
[[nodiscard]] bool has_16_bits(DType dtype) noexcept;

/// Real numbers of less than 32 bits.
[[nodiscard]] bool is_narrow(const at::Tensor& tensor);

/// The sizes of an input for given axes.
[[nodiscard]] std::vector<std::int64_t> shape_of(const Input& input, const Problem& problem,
                                                 const AxisValues& axes);

/// How many elements the inputs of a problem have in all.
[[nodiscard]] std::int64_t input_elements(const Problem& problem, const AxisValues& axes);

/// The dtype of an input in a case of dtype `dtype`.
[[nodiscard]] inline DType dtype_of(const Input& input, DType dtype) noexcept {
  return input.dtype.value_or(dtype);
}

/// The value of an axis: its fixed one, or that of `axes`. Throws `Error{invalid_argument}` when
/// `axes` lacks it.
[[nodiscard]] std::int64_t value_of(const std::string& axis, const Problem& problem,
                                    const AxisValues& axes);

/// The device of tensors that are all on one; the CPU's where there is none.
[[nodiscard]] inline at::Device place_of(const Tensors& tensors) {
  return tensors.empty() ? at::Device(at::kCPU) : tensors.front().device();
}

/// A new contiguous tensor with undefined contents.
[[nodiscard]] at::Tensor empty(const std::vector<std::int64_t>& shape, at::ScalarType type,
                               at::Device where = at::kCPU);

/// Whether a real tensor is all zeros and ones, and has both: nobody's arithmetic makes such a mask
/// less exact.
[[nodiscard]] bool is_mask(const at::Tensor& tensor);

/// Whether two contiguous tensors of one device agree in dtype, shape and every bit.
[[nodiscard]] bool same_bits(const at::Tensor& a, const at::Tensor& b);

/// Calls `visit` with a null pointer of the C++ type of `dtype`: a switch, once.
template <typename Visitor>
decltype(auto) with_type(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::float16:
      return visit(static_cast<at::Half*>(nullptr));
    case DType::bfloat16:
      return visit(static_cast<at::BFloat16*>(nullptr));
    case DType::float32:
      return visit(static_cast<float*>(nullptr));
    case DType::float64:
      return visit(static_cast<double*>(nullptr));
    case DType::int32:
      return visit(static_cast<std::int32_t*>(nullptr));
    case DType::int8:
      return visit(static_cast<std::int8_t*>(nullptr));
    case DType::uint8:
    case DType::boolean:  // Candidates may leave bytes there that are no bool.
      return visit(static_cast<std::uint8_t*>(nullptr));
    case DType::float8_e4m3fn:
      return visit(static_cast<at::Float8_e4m3fn*>(nullptr));
    case DType::float8_e5m2:
      return visit(static_cast<at::Float8_e5m2*>(nullptr));
    case DType::int64:
      break;
  }
  return visit(static_cast<std::int64_t*>(nullptr));
}

}  // namespace ouroboros::judge
