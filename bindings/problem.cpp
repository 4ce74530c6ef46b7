#include "ouroboros/problem.hpp"

#include <pybind11/stl.h>

#include <cctype>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "callables.hpp"
#include "names.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::bindings {
namespace {

using Extent = std::variant<std::int64_t, std::string>;

[[noreturn]] void refuse_extent(const std::string& input, const std::string& text) {
  throw Error(ErrorCode::invalid_argument,
              "input '" + input + "': the extent '" + text +
                  "' is no size; write an axis (\"rows\"), a number (64) or \"2*half\"");
}

bool is_number(const std::string& text) {
  if (text.empty() || text.size() > 12) return false;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) return false;
  }
  return true;
}

bool is_identifier(const std::string& text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) != 0) return false;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  }
  return true;
}

Dim parse_extent(const std::string& input, const Extent& extent) {
  if (const auto* constant = std::get_if<std::int64_t>(&extent)) {
    if (*constant < 0) refuse_extent(input, std::to_string(*constant));
    return Dim{.scale = *constant, .axis = ""};
  }
  const auto& given = std::get<std::string>(extent);
  std::string text;
  for (const char c : given) {
    if (c != ' ') text += c;
  }
  if (is_number(text)) return Dim{.scale = std::stoll(text), .axis = ""};
  if (is_identifier(text)) return Dim{.scale = 1, .axis = text};
  const auto star = text.find('*');
  if (star == std::string::npos) refuse_extent(input, given);
  std::string scale = text.substr(0, star);
  std::string axis = text.substr(star + 1);
  if (is_identifier(scale)) std::swap(scale, axis);
  if (!is_number(scale) || !is_identifier(axis)) refuse_extent(input, given);
  return Dim{.scale = std::stoll(scale), .axis = axis};
}

std::vector<Extent> print_extents(const std::vector<Dim>& shape) {
  std::vector<Extent> result;
  for (const Dim& dim : shape) {
    if (dim.axis.empty())
      result.emplace_back(dim.scale);
    else if (dim.scale == 1)
      result.emplace_back(dim.axis);
    else
      result.emplace_back(std::to_string(dim.scale) + "*" + dim.axis);
  }
  return result;
}

Values parse_values(const std::string& input, const std::string& name) {
  if (name == "real") return Values::real;
  if (name == "positive") return Values::positive;
  if (name == "index") return Values::index;
  if (name == "length") return Values::length;
  if (name == "angle") return Values::angle;
  if (name == "mask") return Values::mask;
  if (name == "offsets") return Values::offsets;
  if (name == "permutation") return Values::permutation;
  throw Error(ErrorCode::invalid_argument,
              "input '" + input + "': values is '" + name +
                  "'; it must be \"real\", \"positive\", \"index\", \"length\", \"angle\", "
                  "\"mask\", \"offsets\" or \"permutation\"");
}

const char* print_values(Values values) {
  switch (values) {
    case Values::real:
      return "real";
    case Values::positive:
      return "positive";
    case Values::index:
      return "index";
    case Values::length:
      return "length";
    case Values::angle:
      return "angle";
    case Values::mask:
      return "mask";
    case Values::offsets:
      return "offsets";
    case Values::permutation:
      return "permutation";
  }
  return "real";
}

Input make_input(std::string name, const std::vector<Extent>& shape,
                 const std::optional<std::string>& dtype, const std::string& values,
                 std::string index_axis, bool parameter, std::optional<std::int64_t> padding) {
  Input input;
  for (const Extent& extent : shape) input.shape.push_back(parse_extent(name, extent));
  if (dtype) input.dtype = dtype_named(*dtype);
  input.values = parse_values(name, values);
  input.index_axis = std::move(index_axis);
  input.parameter = parameter;
  input.padding = padding;
  input.name = std::move(name);
  return input;
}

std::string repr_of(const Problem& problem) { return "<ouroboros.Problem '" + problem.name + "'>"; }

void bind_parts(py::module_& module) {
  py::class_<Axis>(module, "Axis", "A size that shapes refer to by name.")
      .def(py::init([](std::string name, std::int64_t minimum, std::int64_t maximum,
                       std::int64_t multiple_of, std::optional<std::int64_t> fixed) {
             return Axis{std::move(name), minimum, maximum, multiple_of, fixed};
           }),
           py::arg("name"), py::arg("minimum") = 1, py::arg("maximum") = 8192,
           py::arg("multiple_of") = 1, py::arg("fixed") = py::none())
      .def_readonly("name", &Axis::name)
      .def_readonly("minimum", &Axis::minimum, "0 where an empty tensor is legal.")
      .def_readonly("maximum", &Axis::maximum, "Largest value that the sweep may derive.")
      .def_readonly("multiple_of", &Axis::multiple_of, "Every value is a multiple of this.")
      .def_readonly("fixed", &Axis::fixed, "Set when the axis has one value only.")
      .def("__repr__", [](const Axis& axis) { return "<ouroboros.Axis '" + axis.name + "'>"; });

  py::class_<Input>(module, "Input",
                    "One input of a problem. An extent of its shape is an axis (\"rows\"), a "
                    "number (64) or a multiple of an axis (\"2*half\").")
      .def(py::init(&make_input), py::arg("name"), py::arg("shape"), py::arg("dtype") = py::none(),
           py::arg("values") = "real", py::arg("index_axis") = "", py::arg("parameter") = false,
           py::arg("padding") = py::none())
      .def_readonly("name", &Input::name)
      .def_property_readonly("shape", [](const Input& input) { return print_extents(input.shape); })
      .def_property_readonly(
          "dtype",
          [](const Input& input) -> std::optional<std::string> {
            if (!input.dtype) return std::nullopt;
            return std::string(to_string(*input.dtype));
          },
          "None for the dtype of the case.")
      .def_property_readonly("values",
                             [](const Input& input) { return print_values(input.values); })
      .def_readonly(
          "index_axis", &Input::index_axis,
          "The axis that bounds indices (its extent is none of them), lengths and offsets "
          "(which reach it), and permutations.")
      .def_readonly("padding", &Input::padding,
                    "What stands in some places in the place of an index, or None.")
      .def_readonly("parameter", &Input::parameter, "A weight: not drawn from the families.")
      .def("__repr__", [](const Input& input) { return "<ouroboros.Input '" + input.name + "'>"; });

  py::class_<Baseline>(module, "Baseline", "Something to compare a candidate's time with.")
      .def(py::init([](const std::string& name, std::optional<AnyCallable> prepare,
                       std::optional<AnyCallable> plan) {
             const std::string what = "the baseline '" + name + "'";
             Baseline baseline{name, {}};
             if (prepare) baseline.prepare = PythonPrepare(std::move(*prepare), what);
             if (plan) baseline.plan = PythonPlan(std::move(*plan), what);
             return baseline;
           }),
           py::arg("name"), py::arg("prepare") = py::none(), py::arg("plan") = py::none(),
           "For the host, `prepare(inputs, outputs)` gets two tuples of tensors and returns a "
           "callable of no arguments that computes once; compiling and warming up belong into "
           "`prepare`. For a GPU, `plan(signature)` gets a list of dictionaries (name, role, "
           "dtype, shape, strides; inputs before outputs) and returns the bytes of a plan file.")
      .def_readonly("name", &Baseline::name)
      .def("__repr__",
           [](const Baseline& one) { return "<ouroboros.Baseline '" + one.name + "'>"; });
}

Problem make_problem(std::string name, std::string description, std::string origin,
                     std::vector<Axis> axes, std::vector<Input> inputs,
                     std::vector<std::string> outputs, const std::vector<std::string>& dtypes,
                     std::vector<AxisValues> timed, std::vector<AxisValues> timed_gpu,
                     AnyCallable reference, std::optional<AnyCallable> oracle,
                     std::vector<Baseline> baselines, bool nan_meaningful, bool inf_meaningful,
                     const std::string& library_kernels) {
  Problem problem;
  const std::string owner = " of problem '" + name + "'";
  problem.name = std::move(name);
  problem.description = std::move(description);
  problem.origin = std::move(origin);
  problem.axes = std::move(axes);
  problem.inputs = std::move(inputs);
  problem.outputs = std::move(outputs);
  problem.dtypes.clear();
  for (const std::string& dtype : dtypes) problem.dtypes.push_back(dtype_named(dtype));
  problem.timed = std::move(timed);
  problem.timed_gpu = std::move(timed_gpu);
  problem.reference = PythonReference(std::move(reference), "the reference" + owner);
  if (oracle) problem.oracle = PythonReference(std::move(*oracle), "the oracle" + owner);
  problem.baselines = std::move(baselines);
  problem.policies.nan_meaningful = nan_meaningful;
  problem.policies.inf_meaningful = inf_meaningful;
  const auto policy = parse_library_kernels(library_kernels);
  if (!policy) {
    throw Error(ErrorCode::invalid_argument, "library_kernels: '" + library_kernels +
                                                 "' is no policy; use forbid, allow or report");
  }
  problem.policies.library_kernels = *policy;
  problem.check();
  return problem;
}

}  // namespace

void bind_problem(py::module_& module) {
  bind_parts(module);
  py::class_<Problem>(module, "Problem",
                      "What a candidate has to compute, on what, and how it may do it.")
      .def(py::init(&make_problem), py::kw_only(), py::arg("name"), py::arg("description") = "",
           py::arg("origin") = "inline", py::arg("axes"), py::arg("inputs"),
           py::arg("outputs") = std::vector<std::string>{"out"},
           py::arg("dtypes") = std::vector<std::string>{"float32"},
           py::arg("timed") = std::vector<AxisValues>{},
           py::arg("timed_gpu") = std::vector<AxisValues>{}, py::arg("reference"),
           py::arg("oracle") = py::none(), py::arg("baselines") = std::vector<Baseline>{},
           py::arg("nan_meaningful") = false, py::arg("inf_meaningful") = false,
           py::arg("library_kernels") = "forbid",
           "`reference(*inputs)` returns a tensor or a tuple of tensors.\n\n"
           "Raises:\n    InvalidArgumentError: A field is wrong; the message names it.")
      .def_readonly("name", &Problem::name)
      .def_readonly("description", &Problem::description)
      .def_readonly("origin", &Problem::origin,
                    "\"builtin:NAME\", \"file:PATH\" or \"inline\": where a replay finds it.")
      .def_readonly("axes", &Problem::axes)
      .def_readonly("inputs", &Problem::inputs)
      .def_readonly("outputs", &Problem::outputs)
      .def_property_readonly("dtypes",
                             [](const Problem& problem) { return dtype_names(problem.dtypes); })
      .def_readonly("timed", &Problem::timed, "Values of the axes for each cell that is timed.")
      .def_readonly("timed_gpu", &Problem::timed_gpu, "Those for a GPU; empty: the same.")
      .def_property_readonly(
          "reference",
          [](const Problem& problem) -> AnyCallable { return reference_object(problem.reference); },
          "`reference(*inputs)`, on tensors.")
      .def_property_readonly(
          "oracle",
          [](const Problem& problem) -> OptionalCallable<py::object(py::ellipsis)> {
            return reference_object(problem.oracle);
          },
          "None where the oracle is the reference in float64.")
      .def_readonly("baselines", &Problem::baselines, "Besides \"eager\", which is always there.")
      .def_property_readonly("nan_meaningful",
                             [](const Problem& one) { return one.policies.nan_meaningful; })
      .def_property_readonly("inf_meaningful",
                             [](const Problem& one) { return one.policies.inf_meaningful; })
      .def_property_readonly(
          "library_kernels",
          [](const Problem& one) { return std::string(to_string(one.policies.library_kernels)); },
          "\"forbid\", \"allow\" or \"report\".")
      .def("prototypes", &Problem::prototypes,
           "The C++ prototypes of the entry points, one for each dtype.")
      .def(
          "with_baselines",
          [](const Problem& problem, std::vector<Baseline> baselines) {
            Problem copy = problem;
            copy.baselines = std::move(baselines);
            return copy;
          },
          py::arg("baselines"), "The same problem with other baselines.")
      .def(
          "with_timed",
          [](const Problem& problem, std::vector<AxisValues> cells) {
            Problem copy = problem;
            copy.timed = std::move(cells);
            copy.check();
            return copy;
          },
          py::arg("cells"), "The same problem with other cells to time on the host.")
      .def(
          "with_timed_gpu",
          [](const Problem& problem, std::vector<AxisValues> cells) {
            Problem copy = problem;
            copy.timed_gpu = std::move(cells);
            copy.check();
            return copy;
          },
          py::arg("cells"), "The same problem with other cells to time on a GPU.")
      .def("__repr__", &repr_of);

  module.def("problem_names", &problems::names, "Names of the problems that ship, in order.");
  module.def(
      "get_problem", [](const std::string& name) { return problems::get(name); }, py::arg("name"),
      "A problem that ships with the library.\n\n"
      "Raises:\n    NotFoundError: There is none of that name; the message lists them.");
}

}  // namespace ouroboros::bindings
