#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <optional>

#include "judge/base/serial.hpp"
#include "judge/base/tensors.hpp"
#include "judge/cases/parameter_name.hpp"
#include "judge/judge.hpp"
#include "judge/runs/run.hpp"
#include "judge/values/families.hpp"

namespace ouroboros::judge {
namespace {

Buffer buffer_of(std::string name, BufferRole role, const at::Tensor& tensor) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.role = role;
  buffer.dtype = *dtype_of(tensor.scalar_type());
  buffer.shape = tensor.sizes().vec();
  return buffer;
}

std::vector<std::int64_t> sizes_of(const Problem& problem, const AxisValues& axes) {
  std::vector<std::int64_t> sizes;
  for (const auto& axis : problem.axes) {
    if (!axis.fixed) sizes.push_back(value_of(axis.name, problem, axes));
  }
  return sizes;
}

/// The type's name in C++; empty for those that not every compiler has.
std::string_view type_name(DType dtype) noexcept {
  switch (dtype) {
    case DType::bfloat16:
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
      return {};
    case DType::float16:
      return "_Float16";
    case DType::float32:
      return "float";
    case DType::float64:
      return "double";
    case DType::int32:
      return "std::int32_t";
    case DType::int8:
      return "std::int8_t";
    case DType::uint8:
      return "std::uint8_t";
    case DType::boolean:
      return "bool";
    case DType::int64:
      break;
  }
  return "std::int64_t";
}

std::string parameter(DType dtype, const std::string& name) {
  const auto type = type_name(dtype);
  if (type.empty()) {
    throw ReferenceFault("the problem has tensors of " + std::string(to_string(dtype)) +
                         ", which C++ candidates on the host cannot be asked for");
  }
  return std::string(type) + "* " + name;
}

}  // namespace

std::vector<DType> host_dtypes(const Problem& problem) {
  auto dtypes = problem.dtypes;
  std::erase_if(dtypes, [](DType dtype) { return type_name(dtype).empty(); });
  return dtypes;
}

std::string entry_point(DType dtype) { return "run_" + std::string(to_string(dtype)); }

Call call_for(const Problem& problem, const Case& one) {
  Call call;
  call.entry = entry_point(one.spec.dtype);
  for (std::size_t i = 0; i < one.inputs.size(); ++i) {
    call.buffers.push_back(buffer_of(problem.inputs[i].name, BufferRole::input, one.inputs[i]));
  }
  for (std::size_t i = 0; i < one.reference.size(); ++i) {
    call.buffers.push_back(buffer_of(problem.outputs[i], BufferRole::output, one.reference[i]));
  }
  call.sizes = sizes_of(problem, one.spec.axes);
  return call;
}

std::vector<Buffer> input_buffers(const Problem& problem, DType dtype, const AxisValues& axes) {
  std::vector<Buffer> buffers;
  for (const auto& input : problem.inputs) {
    buffers.push_back(
        {input.name, BufferRole::input, dtype_of(input, dtype), shape_of(input, problem, axes)});
  }
  return buffers;
}

Case plain_case(const Problem& problem, DType dtype) {
  const at::NoGradGuard no_grad;
  std::optional<ReferenceRaised> first;
  for (const auto& spec : derive_cases(problem, {dtype}, 0)) {
    if (spec.family != "normal") continue;
    try {
      Case one;
      one.spec = spec;
      one.inputs = draw(problem, spec, 0);
      one.reference = run_reference(problem, spec, one.inputs);
      return one;
    } catch (const ReferenceRaised& fault) {
      if (!first) first = fault;
    }
  }
  throw ReferenceRaised(*first);
}

std::string prototypes(const Problem& problem) {
  const at::NoGradGuard no_grad;
  const Serial serial;
  std::string text = "#include <cstdint>\n\n";
  for (const auto dtype : host_dtypes(problem)) {
    const auto made = plain_case(problem, dtype).reference;
    std::string arguments;
    const auto add = [&](const std::string& argument) {
      arguments += arguments.empty() ? argument : ", " + argument;
    };
    for (const auto& input : problem.inputs) {
      add("const " + parameter(dtype_of(input, dtype), parameter_name(problem, input.name)));
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
      add(parameter(*dtype_of(made[i].scalar_type()), parameter_name(problem, problem.outputs[i])));
    }
    for (const auto& axis : problem.axes) {
      if (!axis.fixed) add("std::int64_t " + parameter_name(problem, axis.name));
    }
    text += "extern \"C\" void " + entry_point(dtype) + "(" + arguments + ");\n";
  }
  return text;
}

}  // namespace ouroboros::judge
