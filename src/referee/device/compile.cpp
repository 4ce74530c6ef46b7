#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "judge/judge.hpp"
#include "referee/device/device.hpp"
#include "referee/device/gpu.hpp"
#include "referee/device/kernel_uses.hpp"
#include "referee/device/plan_source.hpp"

namespace ouroboros::referee::device {
namespace {

PlanRequest small_request(const Problem& problem, DType dtype) {
  const auto one = judge::plain_case(problem, dtype);
  return {dtype, one.spec.axes, judge::call_for(problem, one).buffers};
}

Finding live_note(const Isolation& isolation) {
  const auto& namespaces = isolation.namespaces;
  return {"live_trace", "note", "compile",
          fmt::format("traced on the GPU in a process of its own (namespaces: {}; Landlock: {}); "
                      "what confines a dry trace and not this one: {}",
                      namespaces.empty() ? "none" : fmt::format("{}", fmt::join(namespaces, ", ")),
                      isolation.landlock_abi, fmt::join(isolation.missing, "; "))};
}

}  // namespace

void compile(const Problem& problem, const Options& options, Compiled& compiled) {
  const auto& candidate = compiled.candidate;
  if (candidate.language == "python" && !Gpu::present(options)) {
    compiled.record.ran = true;
    compiled.failure = Status::infrastructure_error;
    compiled.findings.push_back({"no_gpu", "error", "compile",
                                 "host code in Python is traced on a GPU, and there is none here"});
    return;
  }
  const auto target =
      options.device.target.empty() ? Gpu::describe(options).target : options.device.target;
  const bool has_host_code = candidate.language == "triton" || candidate.language == "python";
  const auto source = has_host_code ? traced_plans(problem, candidate, target, options)
                                    : specified_plans(problem, candidate, target, options);
  std::vector<PlanRequest> requests;
  for (const auto dtype : options.dtypes.empty() ? dtypes(problem) : options.dtypes) {
    requests.push_back(small_request(problem, dtype));
  }
  const auto all = audited_plans(*source, problem, requests);
  compiled.record = source->record();
  compiled.record.ran = true;
  compiled.record.target = target;
  compiled.record.succeeded = false;
  compiled.trace = source->trace();
  if (const auto isolation = source->live_isolation()) {
    compiled.findings.push_back(live_note(*isolation));
  }
  std::optional<Misconduct> first_fault;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].fault) {
      first_fault = first_fault ? first_fault : all[i].fault;
      continue;
    }
    if (!compiled.record.succeeded) {
      compiled.record.succeeded = true;
      const auto& plan = all[i].variants.front();
      const auto bytes = plan.serialise();
      compiled.record.image_bytes = static_cast<std::int64_t>(bytes.size());
      compiled.record.image_sha256 = sha256_hex(bytes.data(), bytes.size());
      compiled.record.kernels = kernels_of(plan);
      for (const auto& variant : all[i].variants) {
        if (!variant.variant.empty()) compiled.record.variants.push_back(variant.variant);
      }
    }
    compiled.record.entries.push_back(judge::entry_point(requests[i].dtype));
  }
  if (!compiled.record.succeeded) {
    compiled.failure = first_fault->status;
    compiled.findings.push_back(first_fault->finding);
    return;
  }
  compiled.plans = source;
  if (first_fault) {
    // As on the host: dtypes that a candidate does not take are left out, and said so.
    auto note = first_fault->finding;
    note.kind = "dtype_not_taken";
    note.severity = "note";
    compiled.findings.push_back(std::move(note));
  }
}

}  // namespace ouroboros::referee::device
