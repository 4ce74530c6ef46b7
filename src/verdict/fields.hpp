#pragma once

#include <concepts>
#include <type_traits>

#include "ouroboros/verdict.hpp"

/// The keys of the records in a verdict, once, for the writer and for the reader.
///
/// `fields(visit, record)` calls `visit(key, member)` for every member in the order of the JSON, or
/// `visit(key, member, added)`.
/// The records are const when they are written and mutable when they are read.
namespace ouroboros::verdict_json {

template <class Record, class Bare>
concept Is = std::same_as<std::remove_const_t<Record>, Bare>;

/// Marks a key that verdicts of earlier versions do not have: without it a member keeps its
/// default.
struct Added {};
inline constexpr Added added;

template <class Visit, Is<timing::Interval> Record>
void fields(Visit&& visit, Record& record) {
  visit("estimate", record.estimate);
  visit("low", record.low);
  visit("high", record.high);
}

template <class Visit, Is<KernelUse> Record>
void fields(Visit&& visit, Record& record) {
  visit("function", record.function);
  visit("origin", record.origin);
  visit("launches", record.launches);
  visit("device_time_share", record.device_time_share);
  visit("registers", record.registers);
  visit("stack_bytes", record.stack_bytes);
  visit("shared_bytes", record.shared_bytes);
  visit("shared_dynamic_bytes", record.shared_dynamic_bytes);
  visit("grid", record.grid);
  visit("block", record.block);
  visit("cluster", record.cluster);
}

template <class Visit, Is<Compilation> Record>
void fields(Visit&& visit, Record& record) {
  visit("ran", record.ran);
  visit("succeeded", record.succeeded);
  visit("compiler", record.compiler);
  visit("flags", record.flags);
  visit("duration_ms", record.duration_ms);
  visit("image_bytes", record.image_bytes);
  visit("image_sha256", record.image_sha256);
  visit("entries", record.entries);
  visit("target", record.target);
  visit("variants", record.variants);
  visit("kernels", record.kernels);
  visit("log", record.log);
}

template <class Visit, Is<CaseResult> Record>
void fields(Visit&& visit, Record& record) {
  visit("id", record.id);
  visit("dtype", record.dtype);
  visit("axes", record.axes);
  visit("family", record.family);
  visit("placement", record.placement);
  visit("status", record.status);
  visit("output", record.output);
  visit("max_abs_error", record.max_abs_error);
  visit("reference_max_abs_error", record.reference_max_abs_error);
  visit("error_over_allowed", record.error_over_allowed);
  visit("wrong_elements", record.wrong_elements);
  visit("elements", record.elements);
  visit("message", record.message);
}

template <class Visit, Is<Correctness> Record>
void fields(Visit&& visit, Record& record) {
  visit("ran", record.ran);
  visit("cases_total", record.cases_total);
  visit("cases_passed", record.cases_passed);
  visit("max_error_over_allowed", record.max_error_over_allowed);
  visit("dtypes", record.dtypes);
  visit("dtypes_missing", record.dtypes_missing);
  visit("cases", record.cases);
}

template <class Visit, Is<BaselineTiming> Record>
void fields(Visit&& visit, Record& record) {
  visit("name", record.name);
  visit("status", record.status);
  visit("reason", record.reason);
  visit("latency_us", record.latency_us);
  visit("speedup", record.speedup);
  visit("decision", record.decision);
  visit("blocks", record.blocks);
  visit("sign_flip_p", record.sign_flip_p);
  visit("lag1_autocorrelation", record.lag1_autocorrelation);
  visit("speedup_raw", record.speedup_raw, added);
  visit("block_log_ratios", record.block_log_ratios, added);
  visit("memory", record.memory, added);
  visit("as_called_us", record.as_called_us, added);
  visit("as_called_speedup", record.as_called_speedup, added);
  visit("kernels", record.kernels, added);
}

template <class Visit, Is<TimedCell> Record>
void fields(Visit&& visit, Record& record) {
  visit("dtype", record.dtype);
  visit("axes", record.axes);
  visit("bytes_min", record.bytes_min);
  visit("latency_us", record.latency_us);
  visit("handover_us", record.handover_us);
  visit("variant", record.variant);
  visit("samples_checked", record.samples_checked);
  visit("samples_total", record.samples_total);
  visit("baselines", record.baselines);
  visit("flags", record.flags);
  visit("bracket_us", record.bracket_us, added);
  visit("estimator", record.estimator, added);
  visit("submission", record.submission, added);
  visit("floor_us", record.floor_us, added);
  visit("ceiling_fraction", record.ceiling_fraction, added);
  visit("peak_fraction", record.peak_fraction, added);
  visit("placement_sd", record.placement_sd, added);
  visit("clock_mhz", record.clock_mhz, added);
  visit("blocks_void", record.blocks_void, added);
  visit("blocks_void_by", record.blocks_void_by, added);
  visit("gpu_ms", record.gpu_ms, added);
  visit("code_copies", record.code_copies, added);
  visit("as_called_us", record.as_called_us, added);
}

template <class Visit, Is<CopyPoint> Record>
void fields(Visit&& visit, Record& record) {
  visit("reads", record.reads);
  visit("writes", record.writes);
  visit("bytes", record.bytes);
  visit("gbps", record.gbps);
}

template <class Visit, Is<FlushPoint> Record>
void fields(Visit&& visit, Record& record) {
  visit("bytes", record.bytes);
  visit("read_us", record.read_us);
}

template <class Visit, Is<Calibration> Record>
void fields(Visit&& visit, Record& record) {
  visit("device", record.device);
  visit("driver_version", record.driver_version);
  visit("measured_at", record.measured_at);
  visit("tick_ns", record.tick_ns);
  visit("tick_error_ns", record.tick_error_ns, added);
  visit("launch_us", record.launch_us);
  visit("gap_us", record.gap_us, added);
  visit("empty_us", record.empty_us);
  visit("flush_us", record.flush_us);
  visit("flush_bytes", record.flush_bytes);
  visit("flush_sizes", record.flush_sizes);
  visit("clean_copy_us", record.clean_copy_us);
  visit("dirty_copy_us", record.dirty_copy_us);
  visit("hot_copy_us", record.hot_copy_us);
  visit("globaltimer_step_ns", record.globaltimer_step_ns);
  visit("globaltimer_step_error_ns", record.globaltimer_step_error_ns, added);
  visit("peak_gbps", record.peak_gbps);
  visit("copy_curve", record.copy_curve);
  visit("aa_speedup", record.aa_speedup);
  visit("notes", record.notes);
}

template <class Visit, Is<GpuState> Record>
void fields(Visit&& visit, Record& record) {
  visit("sm_clock_mhz", record.sm_clock_mhz);
  visit("sm_clock_max_mhz", record.sm_clock_max_mhz);
  visit("memory_clock_mhz", record.memory_clock_mhz);
  visit("power_w", record.power_w);
  visit("power_limit_w", record.power_limit_w);
  visit("temperature_c", record.temperature_c);
  visit("slowdowns", record.slowdowns);
  visit("clocks_locked", record.clocks_locked);
  visit("power_violation_ns", record.power_violation_ns);
  visit("thermal_violation_ns", record.thermal_violation_ns);
  visit("other_processes", record.other_processes);
  visit("other_busy_percent", record.other_busy_percent, added);
  visit("shared", record.shared);
  visit("reason", record.reason);
}

template <class Visit, Is<Timing> Record>
void fields(Visit&& visit, Record& record) {
  visit("ran", record.ran);
  visit("clock", record.clock);
  visit("mode", record.mode);
  visit("cells", record.cells);
  visit("geomean_speedup", record.geomean_speedup);
  visit("cache", record.cache, added);
  visit("calibration", record.calibration, added);
  visit("gpu_start", record.gpu_start, added);
  visit("gpu_end", record.gpu_end, added);
}

template <class Visit, Is<GateResult> Record>
void fields(Visit&& visit, Record& record) {
  visit("ran", record.ran);
  visit("passed", record.passed);
  visit("baseline", record.baseline);
  visit("runs", record.runs);
  visit("runs_void", record.runs_void, added);
  visit("speedup", record.speedup);
  visit("safe_speedup", record.safe_speedup);
  visit("aa_spread", record.aa_spread);
  visit("between_process_sd", record.between_process_sd);
  visit("reasons", record.reasons);
  visit("process_speedups", record.process_speedups, added);
  visit("copy_speedups", record.copy_speedups, added);
}

template <class Visit, Is<Finding> Record>
void fields(Visit&& visit, Record& record) {
  visit("kind", record.kind);
  visit("severity", record.severity);
  visit("stage", record.stage);
  visit("evidence", record.evidence);
}

template <class Visit, Is<Isolation> Record>
void fields(Visit&& visit, Record& record) {
  visit("level", record.level);
  visit("sealed", record.sealed);
  visit("namespaces", record.namespaces);
  visit("landlock_abi", record.landlock_abi);
  visit("no_new_privileges", record.no_new_privileges);
  visit("resource_limits", record.resource_limits);
  visit("process_group", record.process_group);
  visit("runs_as_root", record.runs_as_root);
  visit("missing", record.missing);
}

template <class Visit, Is<Provenance> Record>
void fields(Visit&& visit, Record& record) {
  visit("library_version", record.library_version);
  visit("created_at", record.created_at);
  visit("seed", record.seed);
  visit("machine", record.machine);
  visit("kernel", record.kernel);
  visit("torch_version", record.torch_version);
  visit("device", record.device);
  visit("driver_version", record.driver_version);
  visit("trace", record.trace);
  visit("duration_s", record.duration_s);
  visit("stage_s", record.stage_s);
  visit("compared_with", record.compared_with, added);
}

template <class Visit, Is<Verdict> Record>
void fields(Visit&& visit, Record& record) {
  visit("status", record.status);
  visit("summary", record.summary);
  visit("problem", record.problem);
  visit("problem_origin", record.problem_origin);
  visit("candidate", record.candidate);
  visit("language", record.language);
  visit("source", record.source);
  visit("source_sha256", record.source_sha256);
  visit("compilation", record.compilation);
  visit("correctness", record.correctness);
  visit("timing", record.timing);
  visit("gate", record.gate);
  visit("findings", record.findings);
  visit("isolation", record.isolation);
  visit("provenance", record.provenance);
}

template <class Visit, Is<RewardPolicy> Record>
void fields(Visit&& visit, Record& record) {
  visit("baseline", record.baseline);
  visit("correct", record.correct);
  visit("speedup_weight", record.speedup_weight);
  visit("incorrect", record.incorrect);
  visit("runtime_error", record.runtime_error);
  visit("timeout", record.timeout);
  visit("compile_error", record.compile_error);
  visit("rejected", record.rejected);
  visit("maximum", record.maximum);
  visit("interpreted", record.interpreted);
}

}  // namespace ouroboros::verdict_json
