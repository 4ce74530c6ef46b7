#include "bindings.hpp"

PYBIND11_MODULE(_ouroboros, module) {
  module.doc() = "The compiled core of ouroboros. Use the package, which is typed and documented.";
  module.attr("__version__") = OUROBOROS_VERSION;
  ouroboros::bindings::bind_errors(module);
  ouroboros::bindings::bind_problem(module);
  ouroboros::bindings::bind_options(module);
  ouroboros::bindings::bind_referee(module);
  ouroboros::bindings::bind_verdict(module);
  ouroboros::bindings::bind_machine(module);
  ouroboros::bindings::bind_plan(module);
}
