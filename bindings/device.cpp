#include <ATen/ops/empty.h>
#include <pybind11/stl.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "callables.hpp"
#include "names.hpp"
#include "ouroboros/cuda_executor.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/problem.hpp"
#include "ouroboros/timing.hpp"
#include "ouroboros/tracer.hpp"
#include "tensors.hpp"

namespace ouroboros::bindings {
namespace {

std::shared_ptr<Tracer> make_tracer(const std::vector<std::string>& command,
                                    const std::vector<std::string>& readable,
                                    const std::map<std::string, std::string>& environment,
                                    const std::optional<Limits>& limits, const std::string& scratch,
                                    const OptionalCallable<py::bool_()>& cancelled, bool gpu) {
  TracerOptions options;
  options.gpu = gpu;
  options.command = command;
  options.readable.assign(readable.begin(), readable.end());
  for (const auto& [name, value] : environment) {
    options.environment.push_back(name + "=" + value);
  }
  options.limits = limits.value_or(Limits{});
  options.scratch = scratch;
  options.cancelled = [user = cancelled_hook(cancelled)] {
    CallScope* scope = CallScope::current();
    return (scope != nullptr && scope->should_stop()) || (user && user());
  };
  return std::make_shared<Tracer>(std::move(options));
}

/// A dictionary with keys that the documentation names.
using Record = std::map<std::string, py::object>;

LaunchPlan parse(const py::bytes& plan) {
  const std::string_view view = plan;
  return LaunchPlan::parse(std::as_bytes(std::span(view.data(), view.size())));
}

Buffer buffer_of(const PlanBuffer& declared) {
  return {declared.name, declared.role == PlanRole::input ? BufferRole::input : BufferRole::output,
          declared.dtype, declared.shape};
}

/// Replays plans outside of any verdict: for tests, and for whoever wants to run what was judged.
class PlanRunner {
 public:
  explicit PlanRunner(int device) {
    CudaOptions options;
    options.device = device;
    options.reuse = true;
    executor_ = CudaExecutor::start(options);
  }

  using Run = py::typing::Tuple<py::typing::List<py::object>, py::float_>;

  Run run(const py::bytes& bytes, const py::typing::List<py::object>& inputs) {
    const auto plan = parse(bytes);
    Call call;
    call.entry = "run";
    Tensors given;
    for (const auto& declared : plan.buffers) {
      if (declared.role == PlanRole::output) call.buffers.push_back(buffer_of(declared));
      if (declared.role != PlanRole::input) continue;
      call.buffers.push_back(buffer_of(declared));
      const auto tensor = given.size() < inputs.size() ? from_python(inputs[given.size()])
                                                       : std::optional<at::Tensor>();
      if (!tensor || tensor->sizes() != at::IntArrayRef(declared.shape) ||
          tensor->scalar_type() != scalar_type(declared.dtype)) {
        throw Error(ErrorCode::invalid_argument, "input number " + std::to_string(given.size()) +
                                                     " is not the plan's '" + declared.name +
                                                     "' in shape and dtype");
      }
      given.push_back(tensor->cpu().contiguous());
    }
    Tensors outputs;
    Replay replay;
    {
      const py::gil_scoped_release released;
      const auto arena = std::make_shared<const Arena>(std::vector<Call>{call});
      arena->poison(0, Placement::low, 1);
      for (std::size_t i = 0; i < given.size(); ++i) {
        const auto view = arena->view(0, i, Placement::low);
        if (!view.empty()) std::memcpy(view.data(), given[i].const_data_ptr(), view.size());
      }
      const auto session = executor_->open({plan}, arena);
      replay = session->opening();
      if (replay.outcome == Outcome::returned) replay = session->replay(0, Placement::low);
      for (std::size_t i = given.size(); i < call.buffers.size(); ++i) {
        const auto view = arena->view(0, i, Placement::low);
        outputs.push_back(at::empty(call.buffers[i].shape,
                                    at::TensorOptions(scalar_type(call.buffers[i].dtype))));
        if (!view.empty()) std::memcpy(outputs.back().mutable_data_ptr(), view.data(), view.size());
      }
    }
    if (replay.outcome != Outcome::returned) {
      throw Error(ErrorCode::invalid_argument, "the plan cannot be replayed: " + replay.evidence);
    }
    py::list made;
    for (const auto& tensor : outputs) made.append(to_python(tensor));
    return py::make_tuple(made, std::chrono::duration<double, std::micro>(replay.elapsed).count());
  }

  [[nodiscard]] GpuState gpu_state() const { return executor_->state(); }

  [[nodiscard]] double hygiene_ms() const { return executor_->hygiene_ms(); }

 private:
  std::unique_ptr<CudaExecutor> executor_;
};

Record device_record(const CudaDevice& device) {
  Record one;
  one["name"] = py::cast(device.name);
  one["target"] = py::cast(device.target);
  one["uuid"] = py::cast(device.uuid);
  one["multiprocessors"] = py::cast(device.multiprocessors);
  one["memory_bytes"] = py::cast(device.memory_bytes);
  one["l2_bytes"] = py::cast(device.l2_bytes);
  one["shared_optin_bytes"] = py::cast(device.shared_optin_bytes);
  one["driver_version"] = py::cast(device.driver_version);
  one["ordinal"] = py::cast(device.ordinal);
  return one;
}

Record gpu_state_record(const GpuState& state) {
  Record one;
  one["sm_clock_mhz"] = py::cast(state.sm_clock_mhz);
  one["sm_clock_max_mhz"] = py::cast(state.sm_clock_max_mhz);
  one["memory_clock_mhz"] = py::cast(state.memory_clock_mhz);
  one["power_w"] = py::cast(state.power_w);
  one["power_limit_w"] = py::cast(state.power_limit_w);
  one["temperature_c"] = py::cast(state.temperature_c);
  one["slowdowns"] = py::cast(state.slowdowns);
  one["clocks_locked"] = py::cast(state.clocks_locked);
  one["other_processes"] = py::cast(state.other_processes);
  one["other_busy_percent"] = py::cast(state.other_busy_percent);
  one["shared"] = py::cast(state.shared);
  one["power_violation_ns"] = py::cast(state.power_violation_ns);
  one["thermal_violation_ns"] = py::cast(state.thermal_violation_ns);
  one["reason"] = py::cast(state.reason);
  return one;
}

/// One signature of a trace: the inputs as (name, dtype, shape), contiguous.
using TracedInput = std::tuple<std::string, std::string, std::vector<std::int64_t>>;

py::bytes bytes_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Record output_record(const TraceOutput& output) {
  Record one;
  one["dtype"] = py::cast(std::string(to_string(output.dtype)));
  one["shape"] = py::cast(output.shape);
  one["bytes"] = bytes_of(output.bytes);
  return one;
}

std::vector<Record> trace(Tracer& tracer, const py::bytes& source, const std::string& target,
                          const std::vector<std::vector<TracedInput>>& signatures,
                          const std::vector<std::string>& outputs, const std::string& name,
                          std::size_t max_variants, const std::string& device,
                          const std::string& language, const std::string& operation,
                          const std::vector<std::vector<py::bytes>>& values,
                          const OptionalCallable<py::bool_()>& cancelled) {
  if (!values.empty() && values.size() != signatures.size()) {
    throw Error(ErrorCode::invalid_argument, "there are values for " +
                                                 std::to_string(values.size()) + " of " +
                                                 std::to_string(signatures.size()) + " signatures");
  }
  TraceRequest request;
  request.operation = operation;
  request.source = source;
  request.name = name;
  request.language = language;
  request.target = target;
  request.device = device;
  request.max_variants = max_variants;
  for (const auto& inputs : signatures) {
    TraceSignature signature;
    signature.outputs = outputs;
    for (const auto& [input, dtype, shape] : inputs) {
      PlanBuffer buffer;
      buffer.name = input;
      buffer.role = PlanRole::input;
      buffer.dtype = dtype_named(dtype);
      buffer.shape = shape;
      buffer.strides.resize(shape.size());
      std::int64_t stride = 1;
      for (std::size_t i = shape.size(); i-- > 0;) {
        buffer.strides[i] = stride;
        stride *= std::max<std::int64_t>(1, shape[i]);
      }
      buffer.bytes = static_cast<std::uint64_t>(stride) * size_of(buffer.dtype);
      signature.inputs.push_back(std::move(buffer));
    }
    if (!values.empty()) {
      for (const std::string_view value : values[request.signatures.size()]) {
        const auto bytes = std::as_bytes(std::span(value.data(), value.size()));
        signature.values.emplace_back(bytes.begin(), bytes.end());
      }
    }
    request.signatures.push_back(std::move(signature));
  }
  std::vector<TraceResult> results;
  {
    const CallScope scope(cancelled);
    std::exception_ptr thrown;
    {
      const py::gil_scoped_release released;
      try {
        results = tracer.trace(request);
      } catch (...) {
        thrown = std::current_exception();
      }
    }
    scope.rethrow();
    if (thrown) std::rethrow_exception(thrown);
  }
  std::vector<Record> all;
  for (const auto& result : results) {
    Record one;
    py::list variants;
    for (const auto& plan : result.variants) {
      variants.append(bytes_of(plan.serialise()));
    }
    one["variants"] = variants;
    py::list sources;
    for (const auto& text : result.sources) sources.append(bytes_of(text));
    one["sources"] = sources;
    py::list computed;
    for (const auto& output : result.outputs) computed.append(output_record(output));
    one["outputs"] = computed;
    one["refusal"] = py::none();
    if (result.refusal) {
      py::dict refusal;
      refusal["kind"] = result.refusal->kind;
      refusal["op"] = result.refusal->op;
      refusal["message"] = result.refusal->message;
      refusal["traceback"] = result.refusal->traceback;
      one["refusal"] = refusal;
    }
    one["log"] = py::bytes(result.log).attr("decode")("utf-8", "replace");
    py::list notes;
    for (const auto& note : result.notes) {
      notes.append(py::bytes(note).attr("decode")("utf-8", "replace"));
    }
    one["notes"] = notes;
    one["seconds"] = py::cast(result.seconds);
    one["missing"] = py::cast(result.isolation.missing);
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

void bind_device(py::module_& module) {
  py::class_<Tracer, std::shared_ptr<Tracer>>(
      module, "Tracer", "A warm, sandboxed process that is forked for every candidate.")
      .def(py::init(&make_tracer), py::kw_only(), py::arg("command"),
           py::arg("readable") = std::vector<std::string>{},
           py::arg("environment") = std::map<std::string, std::string>{},
           py::arg("limits") = py::none(), py::arg("scratch") = "",
           py::arg("cancelled") = py::none(), py::arg("gpu") = false,
           "`command` is the tracer's command line, `readable` what it needs to read besides the "
           "system's folders, and `environment` what it needs besides a few fixed variables. With "
           "`gpu` candidates use the GPU, for live traces.")
      .def("trace", &trace, py::arg("source"), py::kw_only(), py::arg("target"),
           py::arg("signatures"), py::arg("outputs"), py::arg("name") = "candidate",
           py::arg("max_variants") = 16, py::arg("device") = "", py::arg("language") = "triton",
           py::arg("operation") = "trace",
           py::arg("values") = std::vector<std::vector<py::bytes>>{},
           py::arg("cancelled") = py::none(),
           "Traces a source. A signature is a list of inputs (name, dtype, shape). Returns "
           "a dictionary for each: variants (plan files), sources (what the kernels of each were "
           "compiled from), refusal, log, seconds, and what its process' isolation lacked. Other "
           "operations than \"trace\" may take values, bytes for "
           "each signature, and return outputs (dtype, shape, bytes) and notes.");

  py::class_<PlanRunner>(module, "PlanRunner", "Replays launch plans on a GPU.")
      .def(py::init<int>(), py::arg("device") = 0)
      .def("run", &PlanRunner::run, py::arg("plan"), py::arg("inputs"),
           "Replays a plan file on CPU tensors. Returns the outputs, on the CPU, and the time of "
           "the launches in microseconds (one sample, warm caches).")
      .def(
          "gpu_state",
          [](const PlanRunner& runner) {
            GpuState state;
            {
              const py::gil_scoped_release released;
              state = runner.gpu_state();
            }
            return gpu_state_record(state);
          },
          "What NVML says of the GPU now: clocks, power, what slows it and who else is on it.")
      .def_property_readonly("hygiene_ms", &PlanRunner::hygiene_ms,
                             "What cleaning between the last two runs took, in milliseconds.");

  module.def("own_process", &own_process, py::arg("pid"), py::arg("own"),
             "Whether a process counts as this program's own when others on the GPU are counted.");
  module.def(
      "trimmed_interval",
      [](const std::vector<double>& values, double trim, double alpha) {
        const auto interval = timing::trimmed_interval(values, trim, alpha);
        return std::make_tuple(interval.estimate, interval.low, interval.high);
      },
      py::arg("values"), py::arg("trim") = 0.1, py::arg("alpha") = 0.05,
      "The trimmed mean of at least 4 values and the ends of its t-interval at confidence "
      "1 - alpha.");

  module.def(
      "cuda_devices",
      [] {
        const auto found = cuda_devices();
        std::vector<Record> devices;
        for (const auto& device : found.devices) devices.push_back(device_record(device));
        return std::make_pair(devices, found.reason);
      },
      "The GPUs of this machine, and why there is none.");
}

}  // namespace ouroboros::bindings
