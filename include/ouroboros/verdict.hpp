#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ouroboros/api.hpp"
#include "ouroboros/calibration.hpp"
#include "ouroboros/executor.hpp"
#include "ouroboros/gpu_state.hpp"
#include "ouroboros/timing.hpp"

namespace ouroboros {

/// What a verdict says. The first six speak of the candidate, the last two never do.
enum class Status : std::uint8_t {
  ok,                    ///< Correct on every case, and timed if that was asked for.
  compile_error,         ///< Did not compile, or cannot be loaded.
  runtime_error,         ///< Crashed, wrote outside its outputs, or ran out of heap.
  incorrect,             ///< Wrong values, shapes, NaN positions, or results that depend on luck.
  rejected,              ///< Caught gaming the measurement: see `findings`.
  timeout,               ///< Ran past its time.
  invalid_problem,       ///< The problem cannot tell right from wrong, or its reference fails.
  infrastructure_error,  ///< The machine or this library failed.
};

[[nodiscard]] OUROBOROS_API std::string_view to_string(Status status) noexcept;
[[nodiscard]] OUROBOROS_API std::optional<Status> parse_status(std::string_view name) noexcept;

/// True for compile_error, runtime_error, incorrect, rejected and timeout.
[[nodiscard]] OUROBOROS_API bool is_candidate_fault(Status status) noexcept;

/// True for infrastructure_error and invalid_problem: nothing was learnt about the candidate.
[[nodiscard]] OUROBOROS_API bool is_infrastructure_fault(Status status) noexcept;

/// Something noticed about a candidate, with its evidence.
struct Finding {
  std::string kind;      ///< One of the names in docs/verdict.md, e.g. "forbidden_syscall".
  std::string severity;  ///< "cheat" rejects; "error" makes the status; "note" only informs.
  std::string stage;     ///< "compile", "load", "sweep", "time" or "gate".
  std::string evidence;  ///< One sentence with the figures.
};

/// One correctness case.
struct CaseResult {
  int id = 0;
  std::string dtype;
  std::map<std::string, std::int64_t> axes;
  std::string family;
  std::string placement;       ///< "low", "high" or "both".
  std::string status;          ///< "passed", "failed" or "not_run".
  std::string output;          ///< Output of the worst element.
  double max_abs_error = 0.0;  ///< Of the candidate against the fp64 oracle.
  double reference_max_abs_error =
      0.0;                          ///< Of the reference in the case's dtype against the oracle.
  double error_over_allowed = 0.0;  ///< Largest error / allowed error; above 1 fails.
  std::int64_t wrong_elements = 0;
  std::int64_t elements = 0;
  std::string message;  ///< Empty for a passed case.
};

struct Correctness {
  bool ran = false;
  int cases_total = 0;
  int cases_passed = 0;
  double max_error_over_allowed = 0.0;
  std::vector<std::string> dtypes;          ///< Judged.
  std::vector<std::string> dtypes_missing;  ///< Of the problem, but not exported by the candidate.
  std::vector<CaseResult> cases;
};

/// A kernel of a launch plan, as compiled and as launched.
struct KernelUse {
  std::string function;
  std::string origin;                     ///< "candidate" or "library".
  int launches = 0;                       ///< In one call.
  double device_time_share = 0.0;         ///< Of all launches' time in the sweep; 0 without one.
  std::int64_t registers = 0;             ///< A thread.
  std::int64_t stack_bytes = 0;           ///< Of a thread in local memory: arrays and spills.
  std::int64_t shared_bytes = 0;          ///< Of a block, static.
  std::int64_t shared_dynamic_bytes = 0;  ///< Of a block in the first launch.
  std::vector<std::int64_t> grid;         ///< Of the first launch: x, y, z.
  std::vector<std::int64_t> block;
  std::vector<std::int64_t> cluster;
};

/// Candidate against one baseline in one cell.
struct BaselineTiming {
  std::string name;
  std::string status;  ///< "timed" or "unavailable".
  std::string reason;  ///< Why it is unavailable.
  timing::Interval latency_us;
  timing::Interval speedup;  ///< Baseline time over candidate time: above 1 the candidate wins.
  std::string decision;      ///< See timing::Decision.
  int blocks = 0;
  double sign_flip_p = 1.0;
  double lag1_autocorrelation = 0.0;
  timing::Interval speedup_raw;  ///< Of what was measured, before launch cost was subtracted.
  std::vector<double> block_log_ratios;  ///< ln(candidate / baseline) of each block, in order.
  /// ln(second / first meeting of the same inputs) of the candidate, less the same of the baseline:
  /// below 0, the candidate remembers.
  timing::Interval memory;
  std::optional<timing::Interval> as_called_us;       ///< See `TimedCell::as_called_us`.
  std::optional<timing::Interval> as_called_speedup;  ///< Of one such time over the other.
  /// Of the plan that was timed on a GPU. What torch.compile makes is not the same in every
  /// process.
  std::vector<KernelUse> kernels;
};

/// One timed shape.
struct TimedCell {
  std::string dtype;
  std::map<std::string, std::int64_t> axes;
  std::int64_t bytes_min = 0;   ///< Compulsory traffic: inputs and outputs once each.
  timing::Interval latency_us;  ///< Of the candidate, hand-over included.
  /// Of an empty call; or what a launch adds, and in a chain each call; measured in the same
  /// blocks.
  double handover_us = 0.0;
  std::string variant;               ///< The autotune configuration that was timed, in words.
  std::int64_t samples_checked = 0;  ///< Timed outputs that were compared with the oracle.
  std::int64_t samples_total = 0;
  std::vector<BaselineTiming> baselines;
  std::vector<std::string> flags;  ///< Guards that fired, e.g. "autocorrelated".
  timing::Interval bracket_us;     ///< Of the candidate, between the events, nothing subtracted.
  /// How `latency_us` came about: "bracket" (the launch cost subtracted), "chain" (the mean of
  /// cold runs one after another, a launch and the gaps subtracted), "raw" (nothing subtracted);
  /// empty on the host. With the flag "launch_bound" nothing was subtracted in any case.
  std::string estimator;
  std::string submission;         ///< Of launches to a GPU: "stream", "gate" or "graph".
  double floor_us = 0.0;          ///< Of a copy of as many bytes in the same mix; 0: unknown.
  double ceiling_fraction = 0.0;  ///< floor_us over the latency.
  double peak_fraction = 0.0;     ///< bytes_min over what the memory's bus could move meanwhile.
  double placement_sd = 0.0;      ///< Relative, of the latency between sets of physical pages.
  double clock_mhz = 0.0;         ///< Of the multiprocessors while samples ran; 0: unknown.
  int blocks_void = 0;            ///< Blocks that did not count.
  std::map<std::string, std::int64_t> blocks_void_by;  ///< How many for which reason.
  double gpu_ms = 0.0;                                 ///< Time on the GPU that the clock took.
  /// Copies of each arm's code that took turns; 1: its place is not averaged over; 0 on the host.
  std::int64_t code_copies = 0;
  /// What a call costs who makes it from Python, its host code included: a claim of the process in
  /// which the candidate's code ran. Empty where it was not measured.
  std::optional<timing::Interval> as_called_us;
};

struct Timing {
  bool ran = false;
  std::string clock;  ///< "host_processor_time" (see Replay::elapsed) or "device_events".
  std::string mode;   ///< See timing::Mode.
  std::string cache;  ///< "cold", "dirty", "hot" or "rotated": see Cache; empty on the host.
  std::vector<TimedCell> cells;
  std::map<std::string, double> geomean_speedup;  ///< By baseline, over cells.
  std::optional<Calibration> calibration;         ///< Of the GPU's clock; empty on the host.
  std::optional<GpuState> gpu_start;              ///< Before the first block; empty on the host.
  std::optional<GpuState> gpu_end;                ///< After the last.
};

struct GateResult {
  bool ran = false;
  bool passed = false;
  std::string baseline;
  int runs = 0;
  int runs_void = 0;          ///< Processes that were replaced: the machine did not hold still.
  timing::Interval speedup;   ///< Geometric mean over processes with its interval.
  double safe_speedup = 0.0;  ///< The interval's bad end.
  double aa_spread = 0.0;
  double between_process_sd = 0.0;
  std::vector<std::string> reasons;
  std::vector<double> process_speedups;  ///< Of each process.
  std::vector<double> copy_speedups;     ///< Of the candidate over its copy in each of them.
};

struct Compilation {
  bool ran = false;
  bool succeeded = false;
  std::string compiler;  ///< Version line.
  std::vector<std::string> flags;
  double duration_ms = 0.0;
  std::int64_t image_bytes = 0;
  std::string image_sha256;
  std::vector<std::string> entries;   ///< Exported entry points; on a GPU those that were traced.
  std::string target;                 ///< Of a GPU candidate, e.g. "sm_90"; empty on the host.
  std::vector<std::string> variants;  ///< Autotune configurations of the first plan, in words.
  std::vector<KernelUse> kernels;
  std::string log;  ///< Diagnostics, cut at Limits::log_kib.
};

/// Where a verdict comes from: enough to repeat it.
struct Provenance {
  std::string library_version;
  std::string created_at;  ///< UTC, ISO 8601.
  std::uint64_t seed = 0;  ///< Revealed: with the source it reproduces every case.
  std::string machine;     ///< Processor model.
  std::string kernel;      ///< Operating system release.
  std::string torch_version;
  std::string device;          ///< The GPU's name; empty where none was used.
  std::string driver_version;  ///< Of the GPU's driver; empty where none was used.
  std::string trace;  ///< How host code was followed: "dry" or "live"; empty: there is none.
  double duration_s = 0.0;
  std::map<std::string, double> stage_s;  ///< Wall time of each stage in seconds.
  std::string compared_with;              ///< Of `Referee::compare` the other side; else empty.
};

/// How a verdict turns into a number for a trainer.
struct OUROBOROS_API RewardPolicy {
  std::string baseline = "compile";  ///< Falls back to "eager" where that was not timed.
  double correct = 1.0;              ///< For a correct candidate ...
  double speedup_weight = 1.0;       ///< ... plus this times (safe speed-up - 1), never negative.
  double incorrect = 0.0;
  double runtime_error = -0.2;
  double timeout = -0.2;
  double compile_error = -0.5;
  double rejected = -1.0;
  double maximum = 10.0;  ///< Cap.
  /// Whether verdicts of Triton's interpreter, which are neither sealed nor timed, are rewarded.
  bool interpreted = false;

  /// Reads a policy from a JSON object of these keys; one that is left out keeps its default.
  /// Throws `Error{invalid_argument}` that names the offending key.
  [[nodiscard]] static RewardPolicy from_json(std::string_view json);
};

/// Everything the referee found out about one candidate. Always the same keys.
struct OUROBOROS_API Verdict {
  static constexpr int schema_version = 1;

  Status status = Status::infrastructure_error;
  std::string summary;  ///< One sentence.
  std::string problem;
  std::string problem_origin;
  std::string candidate;
  std::string language;
  std::string source;
  std::string source_sha256;
  Compilation compilation;
  Correctness correctness;
  Timing timing;
  GateResult gate;
  std::vector<Finding> findings;
  Isolation isolation;
  Provenance provenance;

  /// The record as JSON (docs/verdict.md has every key). `indent` < 0 gives one line.
  [[nodiscard]] std::string to_json(int indent = -1) const;

  /// The inverse of `to_json`. Throws `Error{invalid_argument}` that names the offending key.
  [[nodiscard]] static Verdict from_json(std::string_view json);

  /// A short text for a person.
  [[nodiscard]] std::string explain() const;

  /// A short text for a model to learn from: what failed, where, by how much, likely cause.
  [[nodiscard]] std::string feedback() const;

  /// A reward, or nothing for infrastructure faults and invalid problems, which must never
  /// reach a loss.
  [[nodiscard]] std::optional<double> reward(const RewardPolicy& policy = {}) const;
};

}  // namespace ouroboros
