#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/typing.h>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ouroboros/problem.hpp"

/// Python callables as the library's callables, which may be called and destroyed on any thread.
namespace ouroboros::bindings {

/// How signatures and stubs show callables of any signature, and hooks.
using AnyCallable = pybind11::typing::Callable<pybind11::object(pybind11::ellipsis)>;
template <class Signature>
using OptionalCallable = pybind11::typing::Optional<pybind11::typing::Callable<Signature>>;

/// A Python object that may be copied, called and dropped without the GIL.
class SharedObject {
 public:
  explicit SharedObject(pybind11::object object);
  [[nodiscard]] pybind11::handle get() const noexcept { return *object_; }

 private:
  std::shared_ptr<pybind11::object> object_;
};

/// What a call into the library has to say to the Python code that made it.
///
/// A KeyboardInterrupt may come up inside a reference, a hook or a check for signals, deep inside
/// the library: it is kept here, the library is asked to stop, and the caller sees it again.
class CallScope {
 public:
  /// `cancelled` is asked together with the signals; None for nothing.
  explicit CallScope(pybind11::object cancelled);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  /// The scope of the call that this thread is in, or nullptr.
  [[nodiscard]] static CallScope* current() noexcept;

  /// Whether the call should end. Cheap: looks at Python at most every 20 ms. Without the GIL.
  [[nodiscard]] bool should_stop();

  /// Keeps an exception for the end of the call. With the GIL.
  void keep(std::exception_ptr thrown) noexcept;

  /// Throws what was kept, if anything was. With the GIL.
  void rethrow() const;

 private:
  pybind11::object cancelled_;
  std::exception_ptr kept_;
  std::int64_t next_look_ns_ = 0;
  CallScope* outer_;
};

/// Calls `reference(*inputs)`; the result must be a tensor, or a tuple or list of tensors.
class PythonReference {
 public:
  PythonReference(pybind11::object callable, std::string what);
  Tensors operator()(const Tensors& inputs) const;
  [[nodiscard]] pybind11::handle callable() const noexcept { return callable_.get(); }

 private:
  SharedObject callable_;
  std::string what_;
};

/// Calls `prepare(inputs, outputs)`, which returns a callable of no arguments.
class PythonPrepare {
 public:
  PythonPrepare(pybind11::object callable, std::string what);
  std::function<void()> operator()(const Tensors& inputs, const Tensors& outputs) const;
  [[nodiscard]] pybind11::handle callable() const noexcept { return callable_.get(); }

 private:
  SharedObject callable_;
  std::string what_;
};

/// Calls `plan(signature)`, which returns the bytes of a plan file. The signature is a list of
/// dictionaries with the keys name, role, dtype, shape and strides.
class PythonPlan {
 public:
  PythonPlan(pybind11::object callable, std::string what);
  LaunchPlan operator()(const std::vector<PlanBuffer>& signature) const;

 private:
  SharedObject callable_;
  std::string what_;
};

/// A reference as Python sees it: the callable that was given, or a wrapper of a C++ one.
[[nodiscard]] pybind11::object reference_object(const Reference& reference);

/// A hook that says whether to stop, and one that takes a line of text.
[[nodiscard]] std::function<bool()> cancelled_hook(pybind11::object callable);
[[nodiscard]] std::function<void(std::string_view)> log_hook(pybind11::object callable);

/// The Python callable inside a hook, or None.
[[nodiscard]] pybind11::object hook_object(const std::function<bool()>& hook);
[[nodiscard]] pybind11::object hook_object(const std::function<void(std::string_view)>& hook);

}  // namespace ouroboros::bindings
