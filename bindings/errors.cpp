#include <array>
#include <string>

#include "bindings.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::bindings {
namespace {

struct Kind {
  ErrorCode code;
  const char* name;
  const char* doc;
  PyObject* also;  ///< A built-in exception that it is as well, or nothing.
};

/// One class for each code, by the code's number. They live as long as the interpreter.
std::array<PyObject*, 11> classes{};

PyObject* class_of(ErrorCode code) { return classes.at(static_cast<std::size_t>(code)); }

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const Error& error) {
    PyErr_SetString(class_of(error.code()), error.what());
  }
}

PyObject* add_class(py::module_& module, const char* name, const char* doc,
                    const py::tuple& bases) {
  const std::string full = std::string("ouroboros._ouroboros.") + name;
  PyObject* made = PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), nullptr);
  if (made == nullptr) throw py::error_already_set();
  module.add_object(name, py::reinterpret_borrow<py::object>(made));
  return made;
}

}  // namespace

void bind_errors(py::module_& module) {
  PyObject* base = add_class(module, "OuroborosError",
                             "Misuse, or a machine that cannot do what was asked. What a candidate "
                             "did wrong is never an exception: it is the verdict's status.",
                             py::make_tuple(py::handle(PyExc_RuntimeError)));
  py::setattr(base, "code", py::str("internal"));
  const std::array kinds = {
      Kind{ErrorCode::invalid_argument, "InvalidArgumentError",
           "The caller passed something that can never work.", PyExc_ValueError},
      Kind{ErrorCode::not_found, "NotFoundError",
           "A named problem, file or program does not exist.", nullptr},
      Kind{ErrorCode::io, "IOFailure", "Reading or writing a file or a descriptor failed.",
           nullptr},
      Kind{ErrorCode::unsupported, "UnsupportedError",
           "This build or this machine cannot do what was asked.", nullptr},
      Kind{ErrorCode::sandbox_unavailable, "SandboxUnavailableError",
           "A required isolation mechanism is missing.", nullptr},
      Kind{ErrorCode::compiler_missing, "CompilerMissingError", "No C++ compiler was found.",
           nullptr},
      Kind{ErrorCode::executor_lost, "ExecutorLostError",
           "An executor died for a reason that is not the candidate's.", nullptr},
      Kind{ErrorCode::unstable, "UnstableError",
           "The machine does not hold still enough for what was to be measured.", nullptr},
      Kind{ErrorCode::out_of_memory, "OutOfMemoryError",
           "The machine could not provide the memory that was asked for.", nullptr},
      Kind{ErrorCode::cancelled, "CancelledError", "The caller asked to stop.", nullptr},
      Kind{ErrorCode::internal, "InternalError",
           "A broken invariant of this library: please report it.", nullptr},
  };
  static_assert(std::tuple_size_v<decltype(kinds)> == std::tuple_size_v<decltype(classes)>);
  for (const Kind& kind : kinds) {
    py::list bases;
    bases.append(py::handle(base));
    if (kind.also != nullptr) bases.append(py::handle(kind.also));
    PyObject* made = add_class(module, kind.name, kind.doc, py::tuple(bases));
    const std::string_view code = to_string(kind.code);
    py::setattr(made, "code", py::str(code.data(), code.size()));
    classes.at(static_cast<std::size_t>(kind.code)) = made;
  }
  py::register_exception_translator(&translate);
}

}  // namespace ouroboros::bindings
