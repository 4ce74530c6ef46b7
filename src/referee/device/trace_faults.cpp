#include "referee/device/trace_faults.hpp"

#include <fmt/format.h>

namespace ouroboros::referee::device {
namespace {

Finding finding_of(const TraceRefusal& refusal, const std::string& severity,
                   const std::string& text) {
  return {refusal.kind, severity, "compile", text};
}

/// What any process of a candidate may end with; empty for refusals that a tracer made.
std::optional<Misconduct> misconduct_of_process(const TraceRefusal& refusal) {
  if (refusal.kind == "timeout") {
    return Misconduct{Status::timeout, finding_of(refusal, "error", refusal.message)};
  }
  if (refusal.kind == "malformed_plan") {
    return Misconduct{Status::rejected, finding_of(refusal, "cheat", refusal.message)};
  }
  if (refusal.kind == "signature") {
    return Misconduct{Status::incorrect, finding_of(refusal, "error", refusal.message)};
  }
  if (refusal.kind == "missing_entry_point") {
    return Misconduct{Status::compile_error, finding_of(refusal, "error", refusal.message)};
  }
  for (const char* kind : {"crashed", "out_of_memory", "output_too_large"}) {
    if (refusal.kind == kind) {
      return Misconduct{Status::runtime_error, finding_of(refusal, "error", refusal.message)};
    }
  }
  return std::nullopt;
}

}  // namespace

bool wants_device(const TraceRefusal& refusal) {
  return refusal.kind == "needs_device" || refusal.kind == "unsupported";
}

Misconduct dry_misconduct(const TraceRefusal& refusal, bool library_kernels,
                          const std::string& why_not_live) {
  if (auto misconduct = misconduct_of_process(refusal)) {
    return *misconduct;
  }
  if (refusal.kind == "needs_device") {
    if (library_kernels) {
      // Nothing was learnt about the candidate: what it does is allowed.
      return {Status::infrastructure_error,
              finding_of(refusal, "error",
                         fmt::format("the host code calls {}, which can only be traced on a GPU, "
                                     "and {}",
                                     refusal.op, why_not_live))};
    }
    return {Status::rejected,
            finding_of(refusal, "cheat",
                       fmt::format("calls {} in its host code, and the problem forbids library "
                                   "kernels: {}",
                                   refusal.op, refusal.message))};
  }
  const bool is_static = refusal.kind == "compile_error" || refusal.kind == "unsupported";
  return {is_static ? Status::compile_error : Status::runtime_error,
          finding_of(refusal, "error", refusal.message)};
}

Misconduct live_misconduct(const TraceRefusal& refusal) {
  if (auto misconduct = misconduct_of_process(refusal)) {
    return *misconduct;
  }
  // The candidate's own process says so, which may lie: nothing here blames the machine.
  if (refusal.kind == "failed" || refusal.kind == "unavailable") {
    return {Status::runtime_error, finding_of(refusal, "error", refusal.message)};
  }
  if (refusal.kind == "compile_error") {
    return {Status::compile_error, finding_of(refusal, "error", refusal.message)};
  }
  if (refusal.kind.starts_with("output")) {
    return {Status::incorrect, finding_of(refusal, "error", refusal.message)};
  }
  return {Status::compile_error,
          finding_of(
              refusal, "error",
              fmt::format("what it does on a GPU cannot be a launch plan: {}", refusal.message))};
}

}  // namespace ouroboros::referee::device
