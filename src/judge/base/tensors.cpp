#include "judge/base/tensors.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cstring>

#include "ouroboros/error.hpp"

namespace ouroboros {

at::ScalarType scalar_type(DType dtype) noexcept {
  switch (dtype) {
    case DType::float16:
      return at::kHalf;
    case DType::bfloat16:
      return at::kBFloat16;
    case DType::float32:
      return at::kFloat;
    case DType::float64:
      return at::kDouble;
    case DType::int32:
      return at::kInt;
    case DType::int8:
      return at::kChar;
    case DType::uint8:
      return at::kByte;
    case DType::boolean:
      return at::kBool;
    case DType::float8_e4m3fn:
      return at::kFloat8_e4m3fn;
    case DType::float8_e5m2:
      return at::kFloat8_e5m2;
    case DType::int64:
      break;
  }
  return at::kLong;
}

}  // namespace ouroboros

namespace ouroboros::judge {

Format format_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::float16:
      return {0x1p-10, -14};
    case DType::bfloat16:
      return {0x1p-7, -126};
    case DType::float8_e4m3fn:
      return {0x1p-3, -6};
    case DType::float8_e5m2:
      return {0x1p-2, -14};
    case DType::float64:
      return {0x1p-52, -1022};
    default:
      return {0x1p-23, -126};
  }
}

bool has_16_bits(DType dtype) noexcept {
  return dtype == DType::float16 || dtype == DType::bfloat16;
}

bool is_narrow(const at::Tensor& tensor) {
  return tensor.is_floating_point() && tensor.itemsize() < at::elementSize(at::kFloat);
}

std::optional<DType> dtype_of(at::ScalarType type) noexcept {
  for (const auto dtype : all_dtypes()) {
    if (scalar_type(dtype) == type) return dtype;
  }
  return std::nullopt;
}

std::int64_t value_of(const std::string& axis, const Problem& problem, const AxisValues& axes) {
  for (const auto& known : problem.axes) {
    if (known.name == axis && known.fixed) return *known.fixed;
  }
  const auto found = axes.find(axis);
  if (found == axes.end()) {
    throw Error(ErrorCode::invalid_argument, "problem '" + problem.name +
                                                 "': no value is given for "
                                                 "the axis '" +
                                                 axis + "'");
  }
  return found->second;
}

std::vector<std::int64_t> shape_of(const Input& input, const Problem& problem,
                                   const AxisValues& axes) {
  std::vector<std::int64_t> shape;
  shape.reserve(input.shape.size());
  for (const auto& dim : input.shape) {
    shape.push_back(dim.axis.empty() ? dim.scale : dim.scale * value_of(dim.axis, problem, axes));
  }
  return shape;
}

std::int64_t input_elements(const Problem& problem, const AxisValues& axes) {
  std::int64_t elements = 0;
  for (const auto& input : problem.inputs) {
    elements += c10::multiply_integers(shape_of(input, problem, axes));
  }
  return elements;
}

at::Tensor empty(const std::vector<std::int64_t>& shape, at::ScalarType type, at::Device where) {
  return at::empty(shape, at::TensorOptions().dtype(type).device(where));
}

bool is_mask(const at::Tensor& tensor) {
  constexpr std::int64_t few = 256;  // Of what is no mask these say so.
  if (!tensor.is_floating_point() || tensor.numel() < 2) return false;
  const auto flat = tensor.reshape({-1});
  const auto zeros_and_ones = [](const at::Tensor& some) {
    return some.mul(some).eq(some).all().item().toBool();
  };
  if (!zeros_and_ones(flat.narrow(0, 0, std::min(few, flat.numel())))) return false;
  const auto ones = flat.ne(0);
  return zeros_and_ones(flat) && ones.any().item().toBool() && !ones.all().item().toBool();
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  if (a.nbytes() == 0) return true;
  if (a.is_cpu()) return std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
  return a.view(-1).view(at::kByte).equal(b.view(-1).view(at::kByte));
}

}  // namespace ouroboros::judge
