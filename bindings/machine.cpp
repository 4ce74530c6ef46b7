#include <pybind11/stl.h>

#include "bindings.hpp"
#include "ouroboros/executor.hpp"

namespace ouroboros::bindings {

void bind_machine(py::module_& module) {
  py::class_<Isolation>(module, "Isolation", "The isolation that a candidate's process gets here.")
      .def_readonly("level", &Isolation::level,
                    "\"sealed\", \"sandboxed\", \"degraded\" or \"none\".")
      .def_readonly("sealed", &Isolation::sealed, "Every system call of the candidate stops it.")
      .def_readonly("namespaces", &Isolation::namespaces)
      .def_readonly("landlock_abi", &Isolation::landlock_abi, "0 when Landlock is not in force.")
      .def_readonly("no_new_privileges", &Isolation::no_new_privileges)
      .def_readonly("resource_limits", &Isolation::resource_limits)
      .def_readonly("process_group", &Isolation::process_group)
      .def_readonly("runs_as_root", &Isolation::runs_as_root)
      .def_readonly("missing", &Isolation::missing,
                    "One sentence for each mechanism that is not in force.");
  module.def("probe_isolation", &probe_isolation, py::call_guard<py::gil_scoped_release>(),
             "What a sealed process gets on this machine, found out by sandboxing a program that "
             "does nothing.");
}

}  // namespace ouroboros::bindings
