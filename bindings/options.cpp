#include "ouroboros/options.hpp"

#include <pybind11/stl.h>

#include <array>
#include <filesystem>
#include <string>
#include <utility>

#include "bindings.hpp"
#include "callables.hpp"
#include "names.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/tracer.hpp"

namespace ouroboros::bindings {
namespace {

constexpr std::array stage_names = {"compile", "sweep", "time", "gate"};
constexpr std::array mode_names = {"screen", "decide", "report"};
constexpr std::array cache_names = {"cold", "dirty", "hot", "rotated"};

template <class Enum, std::size_t N>
Enum parse(const std::array<const char*, N>& names, const std::string& text, const char* what) {
  std::string known;
  for (std::size_t i = 0; i < N; ++i) {
    if (text == names[i]) return static_cast<Enum>(i);
    known += (i == 0 ? "" : i + 1 == N ? " or " : ", ") + std::string("\"") + names[i] + "\"";
  }
  throw Error(ErrorCode::invalid_argument,
              std::string(what) + " is '" + text + "'; it must be " + known);
}

/// Fills an object from keywords by its own properties, so that there is one list of names.
template <class T>
T from_keywords(const py::KWArgs<py::object>& keywords, const char* what) {
  py::object self = py::cast(T{});
  for (const auto& [key, value] : keywords) {
    if (!py::hasattr(self, key)) {
      throw py::type_error(std::string(what) + " has no option '" + std::string(py::str(key)) +
                           "'");
    }
    py::setattr(self, key, value);
  }
  return self.cast<T>();
}

void bind_limits(py::module_& module) {
  py::class_<Limits>(module, "Limits", "What a candidate may use; enforced from outside.")
      .def(py::init([](const py::KWArgs<py::object>& keywords) {
        return from_keywords<Limits>(keywords, "Limits");
      }))
      .def_readwrite("compile_seconds", &Limits::compile_seconds, "Wall time of the compiler.")
      .def_readwrite("compile_memory_mib", &Limits::compile_memory_mib,
                     "Address space of each compiler process.")
      .def_readwrite("compile_processes", &Limits::compile_processes,
                     "Processes that a compilation may have at once.")
      .def_readwrite("source_kib", &Limits::source_kib, "A longer source is refused unread.")
      .def_readwrite("image_mib", &Limits::image_mib, "Size of a compiled module, and of any file.")
      .def_readwrite("log_kib", &Limits::log_kib, "Compiler output that is kept.")
      .def_readwrite("load_seconds", &Limits::load_seconds,
                     "Loading, static constructors included.")
      .def_readwrite("replay_seconds", &Limits::replay_seconds, "One call of the candidate.")
      .def_readwrite("heap_mib", &Limits::heap_mib, "Heap that a candidate may allocate.")
      .def_readwrite("stack_mib", &Limits::stack_mib, "Stack of the candidate's only thread.");
}

void bind_timing(py::module_& module) {
  py::class_<timing::Plan>(module, "TimingPlan", "How many blocks to look at, how sure to be.")
      .def(py::init([](const py::KWArgs<py::object>& keywords) {
        return from_keywords<timing::Plan>(keywords, "TimingPlan");
      }))
      .def_readwrite("looks", &timing::Plan::looks, "Block counts at which a decision may fall.")
      .def_readwrite("decide_blocks", &timing::Plan::decide_blocks,
                     "Where mode \"decide\" gives up.")
      .def_readwrite("decide_gpu_ms", &timing::Plan::decide_gpu_ms,
                     "GPU time within which mode \"decide\" ends, warm-up included, unless its "
                     "first look takes longer.")
      .def_readwrite("alpha", &timing::Plan::alpha, "Total probability of a false decision.")
      .def_readwrite("trim", &timing::Plan::trim, "Fraction trimmed from each end.")
      .def_readwrite("minimum_effect", &timing::Plan::minimum_effect,
                     "Smallest log-ratio worth claiming.")
      .def_readwrite("half_width", &timing::Plan::half_width,
                     "Log-ratio half-width at which mode \"report\" stops.")
      .def_readwrite("budget_seconds", &timing::Plan::budget_seconds,
                     "Clocked time after which no further block begins.");
  py::class_<timing::GateRule>(module, "GateRule", "What the stability gate asks for.")
      .def(py::init([](const py::KWArgs<py::object>& keywords) {
        return from_keywords<timing::GateRule>(keywords, "GateRule");
      }))
      .def_readwrite("runs", &timing::GateRule::runs, "Fresh processes.")
      .def_readwrite("claim", &timing::GateRule::claim, "Speed-up that must be beaten.")
      .def_readwrite("aa_bound", &timing::GateRule::aa_bound,
                     "Largest |mean A/A log-ratio| that passes.");
}

std::vector<std::string> texts(const std::vector<std::filesystem::path>& paths) {
  return {paths.begin(), paths.end()};
}

void bind_device_options(py::module_& module) {
  py::class_<DeviceOptions>(module, "DeviceOptions",
                            "Where GPU candidates are compiled for and run.")
      .def(py::init([](const py::KWArgs<py::object>& keywords) {
        return from_keywords<DeviceOptions>(keywords, "DeviceOptions");
      }))
      .def_readwrite("ordinal", &DeviceOptions::ordinal, "Of the GPU, as CUDA counts them.")
      .def_readwrite("target", &DeviceOptions::target,
                     "Architecture to compile for, e.g. \"sm_90\"; empty: the GPU's own.")
      .def_readwrite("tracer", &DeviceOptions::tracer,
                     "Runs the host code of Triton candidates; None: they cannot be judged.")
      .def_readwrite("live_tracer", &DeviceOptions::live_tracer,
                     "Runs host code that needs a GPU, on one; None: it cannot be judged.")
      .def_property(
          "libraries", [](const DeviceOptions& o) { return texts(o.libraries); },
          [](DeviceOptions& o, const std::vector<std::string>& folders) {
            o.libraries.assign(folders.begin(), folders.end());
          },
          "Folders to look for NVRTC in first.");
}

}  // namespace

void bind_options(py::module_& module) {
  bind_limits(module);
  bind_device(module);
  bind_timing(module);
  bind_device_options(module);
  py::class_<Options>(module, "Options", "How a referee works. The defaults suit a reward.")
      .def(py::init([](const py::KWArgs<py::object>& keywords) {
        return from_keywords<Options>(keywords, "Options");
      }))
      .def_property(
          "until",
          [](const Options& o) { return stage_names.at(static_cast<std::size_t>(o.until)); },
          [](Options& o, const std::string& text) {
            o.until = parse<Stage>(stage_names, text, "until");
          },
          "How far to judge: \"compile\", \"sweep\", \"time\" or \"gate\".")
      .def_readwrite("limits", &Options::limits)
      .def_property(
          "dtypes", [](const Options& o) { return dtype_names(o.dtypes); },
          [](Options& o, const std::vector<std::string>& names) {
            o.dtypes.clear();
            for (const auto& name : names) o.dtypes.push_back(dtype_named(name));
          },
          "Empty: those of the problem that the candidate exports.")
      .def_readwrite("seed", &Options::seed, "None: secret, and revealed in the verdict.")
      .def_property(
          "mode", [](const Options& o) { return mode_names.at(static_cast<std::size_t>(o.mode)); },
          [](Options& o, const std::string& text) {
            o.mode = parse<timing::Mode>(mode_names, text, "mode");
          },
          "When timing stops: \"screen\" at the first look, \"decide\" on any decision, \"report\" "
          "on precision.")
      .def_readwrite("timing", &Options::timing)
      .def_readwrite("gate", &Options::gate)
      .def_readwrite("device", &Options::device)
      .def_property(
          "scratch", [](const Options& o) { return o.scratch.string(); },
          [](Options& o, const std::string& path) { o.scratch = path; },
          "Parent of scratch folders; empty for the system's.")
      .def_property(
          "cache",
          [](const Options& o) { return cache_names.at(static_cast<std::size_t>(o.cache)); },
          [](Options& o, const std::string& text) {
            o.cache = parse<Cache>(cache_names, text, "cache");
          },
          "What a GPU's L2 cache holds when a timed call begins: \"cold\", \"dirty\", \"hot\" "
          "or \"rotated\".")
      .def_property(
          "traces", [](const Options& o) { return o.traces.string(); },
          [](Options& o, const std::string& path) { o.traces = path; },
          "Where timed cells leave their blocks; empty for nowhere.")
      .def_readwrite("compiler", &Options::compiler,
                     "C++ compiler; empty for $CXX, then c++, g++, clang++.")
      .def_property(
          "cancelled",
          [](const Options& o) -> OptionalCallable<py::bool_()> {
            return hook_object(o.cancelled);
          },
          [](Options& o, const OptionalCallable<py::bool_()>& hook) {
            o.cancelled = cancelled_hook(hook);
          },
          "Asked often; true ends the call with CancelledError.")
      .def_property(
          "log",
          [](const Options& o) -> OptionalCallable<void(py::str)> { return hook_object(o.log); },
          [](Options& o, const OptionalCallable<void(py::str)>& hook) { o.log = log_hook(hook); },
          "Gets diagnostics, one line a call.");
}

}  // namespace ouroboros::bindings
