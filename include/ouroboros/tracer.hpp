#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ouroboros/api.hpp"
#include "ouroboros/executor.hpp"
#include "ouroboros/launch_plan.hpp"
#include "ouroboros/limits.hpp"

/// Running a candidate's host code, once, where it can do no harm, to learn what it would launch.
/// docs/tracer.md has the processes, the frames and the limits.
namespace ouroboros {

/// The arguments of one call of a candidate.
struct TraceSignature {
  std::vector<PlanBuffer> inputs;    ///< Name, dtype, shape and strides count.
  std::vector<std::string> outputs;  ///< Their names, in order.
  /// Of "interpret": a plan's file, its kernels' sources, and the inputs, contiguous. Of
  /// "as_called": one JSON document (docs/tracer.md).
  std::vector<std::vector<std::byte>> values;
};

/// One candidate and what to trace of it.
struct TraceRequest {
  std::string operation = "trace";  ///< One of those that the tracer's command offers.
  std::string source;
  std::string name;      ///< Of the source, as tracebacks show it.
  std::string language;  ///< "triton" or "python".
  std::string entry = "run";
  std::string target;  ///< "sm_90".
  std::string device;  ///< The GPU's name, so that host code learns of that one; else the usual.
  std::size_t max_variants = 16;
  double seconds = 0;  ///< That all of it may take; 0: the limits' `compile_seconds`.
  /// 32 random hexadecimal digits, the same for all requests of one candidate that may share what
  /// its process builds (PyTorch's extensions, Triton's kernels), until `Tracer::forget`. Empty: a
  /// process finds nothing, and leaves nothing.
  std::string builds;
  std::vector<TraceSignature> signatures;
};

/// Why a candidate has no plan. It is the candidate's doing, or a limit of the tracer's kind.
struct TraceRefusal {
  /// One of the tracer's kinds, or "timeout", "out_of_memory", "output_too_large", "crashed" (the
  /// process ended, or returned what is no result) or "malformed_plan".
  std::string kind;
  std::string op;         ///< The operation that cannot be traced; empty where there is none.
  std::string message;    ///< One sentence.
  std::string traceback;  ///< Of the candidate's code; may be empty.
};

/// A kernel that the tracer compiled, in its own words: `kernel_resources` reads the cubin instead.
struct KernelReport {
  std::string function;
  std::string module;  ///< SHA-256 of the cubin.
  std::int64_t registers = 0;
  std::int64_t spills = 0;  ///< Of a thread, in words of 4 bytes.
  std::int64_t shared_bytes = 0;
  std::int64_t num_warps = 0;
  std::int64_t num_stages = 0;
};

/// A tensor that a candidate returned from an operation that computes.
struct TraceOutput {
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;    ///< Outermost first.
  std::vector<std::int64_t> strides;  ///< As the candidate returned it, in elements.
  std::vector<std::byte> bytes;       ///< Contiguous.
};

/// What came of one signature: variants, or outputs, or a refusal.
struct TraceResult {
  std::vector<LaunchPlan> variants;  ///< Of "trace": parsed, not audited.
  /// What the kernels of each variant were compiled from, for "interpret", which alone reads it;
  /// empty where the tracer does not say.
  std::vector<std::vector<std::byte>> sources;
  std::vector<TraceOutput> outputs;  ///< Of other operations: nothing here vouches for them.
  std::optional<TraceRefusal> refusal;
  std::vector<KernelReport> kernels;
  std::vector<std::string> notes;  ///< E.g. a configuration that was dropped, and why.
  std::string log;                 ///< What the candidate printed, up to `Limits::log_kib`.
  double seconds = 0;              ///< The operation's own time; of the whole request in refusals.
  Isolation isolation;             ///< What confined this candidate's process.
};

struct TracerOptions {
  /// A program and its arguments, e.g. {"/usr/bin/python3", "-m", "ouroboros.trace.zygote"}.
  /// The program's path is absolute.
  std::vector<std::string> command;
  std::vector<std::filesystem::path> readable;  ///< Beside the system's folders.
  std::vector<std::string> environment;         ///< "NAME=value", beside a few that are set anyhow.
  Limits limits;  ///< Those of the compiler; `compile_seconds` is a whole request's time.
  std::filesystem::path scratch;  ///< Empty: the system's folder for temporary files.
  std::size_t concurrency = 0;    ///< Candidates at once; 0: as many as there are processors.
  double start_seconds = 120;     ///< A zygote that takes longer to start is broken.
  double grace_seconds = 10;      ///< A reply that is later than its limit by this means the same.
  /// Whether candidates get at the GPU, each in a context of its own: for live traces. They have
  /// four times the limits, and are confined less; docs/tracer.md says in what.
  bool gpu = false;
  std::function<bool()> cancelled;  ///< Asked every few milliseconds, from any thread.
};

/// A warm process that is forked for every candidate.
///
/// It starts with the first request and goes with this object, and nothing of it stays. All
/// functions may be called from many threads at once.
class OUROBOROS_API Tracer {
 public:
  /// Throws `Error{invalid_argument}` for a command that is no absolute path.
  explicit Tracer(TracerOptions options);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  /// Runs one request in a process of its own: one result for each signature.
  ///
  /// Throws `Error{executor_lost}` when the zygote died twice, `Error{sandbox_unavailable}` when it
  /// or a child could not be confined at all, and `Error{cancelled}`, once nothing of the request
  /// runs any more.
  std::vector<TraceResult> trace(const TraceRequest& request);

  /// Has what was built under that name removed, as soon as no request uses it.
  void forget(const std::string& builds) noexcept;

  /// What confines the zygote, and so all that it forks. Starts it.
  Isolation isolation();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ouroboros
