#include "callables.hpp"

#include <pybind11/stl.h>

#include <chrono>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "ouroboros/declared_dtypes.hpp"
#include "ouroboros/error.hpp"
#include "tensors.hpp"

namespace ouroboros::bindings {

namespace py = pybind11;

namespace {

constexpr std::int64_t look_interval_ns = 20'000'000;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool interpreter_is_gone() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsInitialized() == 0 || Py_IsFinalizing() != 0;
#else
  return Py_IsInitialized() == 0 || _Py_IsFinalizing() != 0;
#endif
}

/// Keeps this thread's Python state between calls: making one for every call of a baseline would
/// cost that baseline microseconds which the same code in a Python thread does not pay.
class KeptThreadState {
 public:
  KeptThreadState() {
    if (PyGILState_GetThisThreadState() != nullptr) return;
    PyGILState_Ensure();
    state_ = PyEval_SaveThread();
  }
  ~KeptThreadState() {
    if (state_ == nullptr || interpreter_is_gone()) return;
    PyEval_RestoreThread(state_);
    PyGILState_Release(PyGILState_UNLOCKED);
  }
  KeptThreadState(const KeptThreadState&) = delete;
  KeptThreadState& operator=(const KeptThreadState&) = delete;

 private:
  PyThreadState* state_ = nullptr;
};

void keep_thread_state() { thread_local const KeptThreadState kept; }

std::string type_name(py::handle object) {
  return py::str(py::type::handle_of(object).attr("__name__"));
}

/// Turns a Python exception into one that may travel through the library without the GIL.
/// Whatever is no `Exception` (KeyboardInterrupt, SystemExit) is kept for the caller instead.
[[noreturn]] void raise_as_cpp(py::error_already_set& raised, const std::string& what) {
  if (!raised.matches(PyExc_Exception)) {
    if (CallScope* scope = CallScope::current()) scope->keep(std::current_exception());
    throw Error(ErrorCode::cancelled, what + " was interrupted");
  }
  if (raised.matches(PyExc_MemoryError)) {
    throw Error(ErrorCode::out_of_memory, what + " ran out of memory");
  }
  std::string message = type_name(raised.value());
  if (const std::string text = py::str(raised.value()); !text.empty()) message += ": " + text;
  if (py::object trace = raised.trace(); trace && !trace.is_none()) {
    while (!trace.attr("tb_next").is_none()) trace = trace.attr("tb_next");
    const py::object code = trace.attr("tb_frame").attr("f_code");
    message += " (" + py::str(code.attr("co_filename")).cast<std::string>() + ":" +
               py::str(trace.attr("tb_lineno")).cast<std::string>() + ")";
  }
  throw std::runtime_error(what + " raised " + message);
}

py::tuple to_tuple(const Tensors& tensors) {
  py::tuple result(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) result[i] = to_python(tensors[i]);
  return result;
}

Tensors to_tensors(py::handle result, const std::string& what) {
  Tensors tensors;
  // Results are detached: a reference with parameters records a graph that nobody wants.
  if (auto single = from_python(result)) {
    tensors.push_back(single->detach());
    return tensors;
  }
  if (!py::isinstance<py::tuple>(result) && !py::isinstance<py::list>(result)) {
    throw std::runtime_error(what + " returned " + type_name(result) +
                             " (TypeError: return a torch.Tensor, or a tuple or list of them)");
  }
  std::size_t index = 0;
  for (const py::handle item : result) {
    auto tensor = from_python(item);
    if (!tensor) {
      throw std::runtime_error(what + " returned " + type_name(item) + " as item " +
                               std::to_string(index) +
                               " (TypeError: return a torch.Tensor, or a tuple or list of them)");
    }
    tensors.push_back(tensor->detach());
    ++index;
  }
  return tensors;
}

/// What a reference returns that raised in another dtype than its inputs are declared as, once its
/// tensors look as declared; empty where it was not run in another one, or raises again.
std::optional<Tensors> called_as_declared(py::handle callable, const Tensors& inputs,
                                          const std::string& what) {
  const auto* declared = declared_dtypes();
  if (declared == nullptr || declared->size() != inputs.size()) return std::nullopt;
  py::list dtypes;
  for (const auto dtype : *declared) dtypes.append(std::string(to_string(dtype)));
  try {
    const auto call = py::module_::import("ouroboros.declared").attr("call");
    return to_tensors(call(callable, to_tuple(inputs), dtypes), what);
  } catch (py::error_already_set& again) {
    if (again.matches(PyExc_Exception)) return std::nullopt;  // What it raised first says more.
    raise_as_cpp(again, what);
  } catch (const std::runtime_error&) {
    return std::nullopt;  // Likewise of what it returns.
  }
}

/// A C++ reference as a Python callable: `reference(*inputs)`.
py::object wrap_reference(const Reference& reference) {
  return py::cpp_function(
      [reference](const py::args& arguments) -> py::object {
        Tensors inputs;
        for (const py::handle item : arguments) {
          auto tensor = from_python(item);
          if (!tensor) {
            throw py::type_error("a reference takes tensors, not " + type_name(item));
          }
          inputs.push_back(std::move(*tensor));
        }
        const Tensors outputs = reference(inputs);
        if (outputs.size() == 1) return to_python(outputs.front());
        return to_tuple(outputs);
      },
      py::name("reference"), py::doc("Computes the outputs from the inputs."));
}

struct CancelledHook {
  SharedObject callable;

  bool operator()() const {
    keep_thread_state();
    const py::gil_scoped_acquire gil;
    try {
      return py::bool_(callable.get()());
    } catch (py::error_already_set& raised) {
      if (CallScope* scope = CallScope::current())
        scope->keep(std::current_exception());
      else
        raised.discard_as_unraisable("Options.cancelled");
      return true;
    }
  }
};

struct LogHook {
  SharedObject callable;

  void operator()(std::string_view line) const {
    keep_thread_state();
    const py::gil_scoped_acquire gil;
    try {
      callable.get()(py::str(line.data(), line.size()));
    } catch (py::error_already_set& raised) {
      // A broken log must not change a verdict.
      raised.discard_as_unraisable("Options.log");
    }
  }
};

thread_local CallScope* current_scope = nullptr;

}  // namespace

SharedObject::SharedObject(py::object object)
    : object_(new py::object(std::move(object)), [](py::object* held) {
        if (interpreter_is_gone()) {
          held->release();  // Too late to count references: the process is ending.
        } else {
          const py::gil_scoped_acquire gil;
          *held = py::object();
        }
        delete held;
      }) {}

CallScope::CallScope(py::object cancelled)
    : cancelled_(std::move(cancelled)), outer_(current_scope) {
  current_scope = this;
}

CallScope::~CallScope() { current_scope = outer_; }

CallScope* CallScope::current() noexcept { return current_scope; }

bool CallScope::should_stop() {
  if (kept_) return true;
  const std::int64_t now = now_ns();
  if (now < next_look_ns_) return false;
  next_look_ns_ = now + look_interval_ns;
  const py::gil_scoped_acquire gil;
  try {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    return !cancelled_.is_none() && py::bool_(cancelled_());
  } catch (py::error_already_set&) {
    keep(std::current_exception());
    return true;
  }
}

void CallScope::keep(std::exception_ptr thrown) noexcept {
  if (!kept_) kept_ = std::move(thrown);
}

void CallScope::rethrow() const {
  if (kept_) std::rethrow_exception(kept_);
}

PythonReference::PythonReference(py::object callable, std::string what)
    : callable_(std::move(callable)), what_(std::move(what)) {}

Tensors PythonReference::operator()(const Tensors& inputs) const {
  keep_thread_state();
  const py::gil_scoped_acquire gil;
  try {
    return to_tensors(callable_.get()(*to_tuple(inputs)), what_);
  } catch (py::error_already_set& raised) {
    if (raised.matches(PyExc_Exception)) {
      if (auto made = called_as_declared(callable_.get(), inputs, what_)) return *std::move(made);
    }
    raise_as_cpp(raised, what_);
  }
}

PythonPrepare::PythonPrepare(py::object callable, std::string what)
    : callable_(std::move(callable)), what_(std::move(what)) {}

std::function<void()> PythonPrepare::operator()(const Tensors& inputs,
                                                const Tensors& outputs) const {
  keep_thread_state();
  const py::gil_scoped_acquire gil;
  try {
    py::object call = callable_.get()(to_tuple(inputs), to_tuple(outputs));
    if (PyCallable_Check(call.ptr()) == 0) {
      throw std::runtime_error(what_ + " returned " + type_name(call) +
                               " (TypeError: prepare must return a callable)");
    }
    return [run = SharedObject(std::move(call)), what = what_] {
      keep_thread_state();
      const py::gil_scoped_acquire held;
      try {
        run.get()();
      } catch (py::error_already_set& raised) {
        raise_as_cpp(raised, what);
      }
    };
  } catch (py::error_already_set& raised) {
    raise_as_cpp(raised, what_);
  }
}

PythonPlan::PythonPlan(py::object callable, std::string what)
    : callable_(std::move(callable)), what_(std::move(what)) {}

LaunchPlan PythonPlan::operator()(const std::vector<PlanBuffer>& signature) const {
  keep_thread_state();
  const py::gil_scoped_acquire gil;
  try {
    py::list buffers;
    for (const auto& buffer : signature) {
      py::dict one;
      one["name"] = buffer.name;
      one["role"] = buffer.role == PlanRole::input ? "input" : "output";
      one["dtype"] = std::string(to_string(buffer.dtype));
      one["shape"] = py::cast(buffer.shape);
      one["strides"] = py::cast(buffer.strides);
      buffers.append(one);
    }
    const auto text = callable_.get()(buffers).cast<py::bytes>();
    const std::string_view view = text;
    return LaunchPlan::parse(std::as_bytes(std::span(view.data(), view.size())));
  } catch (py::error_already_set& raised) {
    raise_as_cpp(raised, what_);
  }
}

py::object reference_object(const Reference& reference) {
  if (!reference) return py::none();
  if (const auto* python = reference.target<PythonReference>()) {
    return py::reinterpret_borrow<py::object>(python->callable());
  }
  return wrap_reference(reference);
}

std::function<bool()> cancelled_hook(py::object callable) {
  if (callable.is_none()) return {};
  return CancelledHook{SharedObject(std::move(callable))};
}

std::function<void(std::string_view)> log_hook(py::object callable) {
  if (callable.is_none()) return {};
  return LogHook{SharedObject(std::move(callable))};
}

py::object hook_object(const std::function<bool()>& hook) {
  const auto* python = hook.target<CancelledHook>();
  return python == nullptr ? py::none()
                           : py::reinterpret_borrow<py::object>(python->callable.get());
}

py::object hook_object(const std::function<void(std::string_view)>& hook) {
  const auto* python = hook.target<LogHook>();
  return python == nullptr ? py::none()
                           : py::reinterpret_borrow<py::object>(python->callable.get());
}

}  // namespace ouroboros::bindings
