#include <pybind11/stl.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "names.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/launch_plan.hpp"

namespace ouroboros::bindings {
namespace {

// dtype, shape and strides, as a signature has them.
using Tensor = std::tuple<std::string, std::vector<std::int64_t>, std::vector<std::int64_t>>;

std::span<const std::byte> span_of(const py::bytes& bytes) {
  return std::as_bytes(std::span(static_cast<std::string_view>(bytes)));
}

py::bytes bytes_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The document as it stands in the file; docs/plan.md has the header.
py::object document_of(const LaunchPlan& plan) {
  const std::vector<std::byte> file = plan.serialise();
  constexpr std::size_t header_bytes = 56;
  std::uint32_t size = 0;
  std::memcpy(&size, file.data() + 12, sizeof(size));
  return py::module_::import("json").attr("loads")(
      py::str(reinterpret_cast<const char*>(file.data()) + header_bytes, size));
}

void add(std::vector<PlanBuffer>& signature, PlanRole role, const std::vector<Tensor>& tensors) {
  for (const auto& [dtype, shape, strides] : tensors) {
    PlanBuffer& buffer = signature.emplace_back();
    buffer.name = "signature";
    buffer.role = role;
    buffer.dtype = dtype_named(dtype);
    buffer.shape = shape;
    buffer.strides = strides;
  }
}

// The plan's own tensors where none are given: then only its launches are measured.
std::vector<PlanRefusal> audit_plan(const LaunchPlan& plan,
                                    const std::optional<std::vector<Tensor>>& inputs,
                                    const std::optional<std::vector<Tensor>>& outputs,
                                    bool library_kernels, std::size_t launches,
                                    std::uint64_t scratch_bytes) {
  PlanRules rules;
  rules.library_kernels = library_kernels;
  rules.launches = launches;
  rules.scratch_bytes = scratch_bytes;
  const auto add_side = [&](PlanRole role, const std::optional<std::vector<Tensor>>& tensors) {
    if (tensors) return add(rules.signature, role, *tensors);
    for (const PlanBuffer& buffer : plan.buffers) {
      if (buffer.role == role) rules.signature.push_back(buffer);
    }
  };
  add_side(PlanRole::input, inputs);
  add_side(PlanRole::output, outputs);
  return audit(plan, rules);
}

}  // namespace

void bind_plan(py::module_& module) {
  py::class_<PlanRefusal>(module, "PlanRefusal", "Why a plan may not be replayed.")
      .def_readonly("kind", &PlanRefusal::kind, "One of the names in docs/plan.md.")
      .def_readonly("evidence", &PlanRefusal::evidence, "One sentence.");

  py::class_<KernelResources>(module, "KernelResources", "What a cubin says of one of its kernels.")
      .def_readonly("function", &KernelResources::function)
      .def_readonly("registers", &KernelResources::registers, "A thread.")
      .def_readonly("stack_bytes", &KernelResources::stack_bytes,
                    "A thread's local memory: arrays and spills.")
      .def_readonly("shared_bytes", &KernelResources::shared_bytes,
                    "Static shared memory of a block.")
      .def_readonly("parameter_bytes", &KernelResources::parameter_bytes)
      .def_property_readonly(
          "parameters",
          [](const KernelResources& kernel) {
            std::vector<std::pair<std::uint32_t, std::uint32_t>> fields;
            for (const ParameterField& field : kernel.parameters) {
              fields.emplace_back(field.offset, field.size);
            }
            return fields;
          },
          "Offset and size of each, in order.");

  const PlanRules defaults;
  py::class_<LaunchPlan>(module, "LaunchPlan",
                         "What a GPU candidate would launch, as data: see docs/plan.md.")
      .def_static(
          "from_bytes",
          [](const py::bytes& data) {
            const std::span<const std::byte> bytes = span_of(data);
            const py::gil_scoped_release release;
            return LaunchPlan::parse(bytes);
          },
          py::arg("data"), "Reads the bytes of a plan file, or says what is wrong with them.")
      .def(
          "to_bytes", [](const LaunchPlan& plan) { return bytes_of(plan.serialise()); },
          "The plan file. Equal plans give equal bytes.")
      .def("document", &document_of, "The file's document as plain data: all but the images.")
      .def(
          "image",
          [](const LaunchPlan& plan, std::size_t index) {
            if (index >= plan.images.size()) throw py::index_error("the plan has no such image");
            return bytes_of(plan.images[index].bytes);
          },
          py::arg("index"), "The bytes of an image: a cubin, or what a state buffer holds.")
      .def("audit", &audit_plan, py::kw_only(), py::arg("inputs") = py::none(),
           py::arg("outputs") = py::none(), py::arg("library_kernels") = defaults.library_kernels,
           py::arg("launches") = defaults.launches,
           py::arg("scratch_bytes") = defaults.scratch_bytes,
           "Every reason why the plan may not be replayed. Inputs and outputs are (dtype, shape, "
           "strides in elements); without them the plan's own are taken as right.");

  module.def(
      "kernel_resources", [](const py::bytes& cubin) { return kernel_resources(span_of(cubin)); },
      py::arg("cubin"), "The resource usage of every kernel of a cubin.");
  module.def(
      "cubin_target", [](const py::bytes& cubin) { return cubin_target(span_of(cubin)); },
      py::arg("cubin"), "The architecture of a cubin, e.g. \"sm_90\" or \"sm_90a\".");
}

}  // namespace ouroboros::bindings
