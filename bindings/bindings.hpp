#pragma once

#include <pybind11/pybind11.h>

/// The bindings, one function a topic. `module.cpp` calls them in this order.
namespace ouroboros::bindings {

namespace py = pybind11;

void bind_errors(py::module_& module);
void bind_problem(py::module_& module);
void bind_device(py::module_& module);
void bind_options(py::module_& module);
void bind_referee(py::module_& module);
void bind_verdict(py::module_& module);
void bind_machine(py::module_& module);
void bind_plan(py::module_& module);

}  // namespace ouroboros::bindings
