#include "referee/device/interpreter.hpp"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <algorithm>

#include "judge/tensors.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/tracer.hpp"
#include "referee/device/plan_source.hpp"

namespace ouroboros::referee::device {
namespace {

TraceSignature signature_for(const Problem& problem, const judge::Case& one) {
  TraceSignature signature;
  signature.outputs = problem.outputs;
  for (auto& buffer : signature_of(judge::call_for(problem, one).buffers)) {
    if (buffer.role == PlanRole::input) signature.inputs.push_back(std::move(buffer));
  }
  for (const auto& input : one.inputs) {
    const auto* bytes = static_cast<const std::byte*>(input.const_data_ptr());
    signature.values.emplace_back(bytes, bytes + input.nbytes());
  }
  return signature;
}

/// The outputs as tensors over the bytes of `result`; empty when they are not those of the case.
std::optional<Tensors> outputs_of(const judge::Case& one, TraceResult& result) {
  if (result.outputs.size() != one.reference.size()) {
    return std::nullopt;
  }
  Tensors outputs;
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    auto& output = result.outputs[i];
    const auto type = judge::scalar_type(output.dtype);
    if (type != one.reference[i].scalar_type() || one.reference[i].sizes() != output.shape) {
      return std::nullopt;
    }
    outputs.push_back(at::from_blob(output.bytes.data(), output.shape, at::TensorOptions(type)));
  }
  return outputs;
}

struct Judged {
  CaseResult result;
  std::optional<Misconduct> fault;
};

Judged judge_one(const Problem& problem, const judge::Case& one, TraceResult& result) {
  Judged judged;
  const auto fail = [&](Status status, const std::string& kind, const std::string& text) {
    judged.result.status = "failed";
    judged.result.message = text;
    judged.fault = Misconduct{status, {kind, "error", "sweep", text}};
  };
  if (result.refusal) {
    const auto& [kind, op, message, traceback] = *result.refusal;
    // What the interpreter does not know is no fault of the candidate's.
    fail(kind == "timeout"       ? Status::timeout
         : kind == "unsupported" ? Status::infrastructure_error
                                 : Status::runtime_error,
         kind, message);
  } else if (const auto outputs = outputs_of(one, result)) {
    judged.result = judge::compare(problem, one, *outputs);
    if (judged.result.status == "failed") {
      fail(Status::incorrect, "wrong_values", judged.result.message);
    }
  } else {
    fail(Status::incorrect, "output_shape",
         "the outputs have not the number, dtypes and shapes that the problem wants");
  }
  judged.result.id = one.spec.id;
  judged.result.dtype = to_string(one.spec.dtype);
  judged.result.axes = one.spec.axes;
  judged.result.family = one.spec.family;
  judged.result.placement = "low";
  return judged;
}

}  // namespace

SweepOutcome interpret_cases(const Problem& problem, const Candidate& candidate,
                             const CasePool& pool, const Options& options) {
  TraceRequest request;
  request.operation = "interpret";
  request.source = candidate.source;
  request.name = candidate.name;
  request.language = candidate.language;
  request.target = options.device.target;
  // An interpreter is slow: each case may take what a replay may.
  request.seconds = options.limits.compile_seconds +
                    options.limits.replay_seconds * static_cast<double>(pool.cases.size());
  for (const auto& one : pool.cases) {
    request.signatures.push_back(signature_for(problem, one));
  }
  auto results = options.device.tracer->trace(request);

  SweepOutcome outcome;
  outcome.isolation = results.front().isolation;
  outcome.isolation.level = "interpreted";
  outcome.isolation.sealed = false;
  outcome.isolation.missing.insert(
      outcome.isolation.missing.begin(),
      "the candidate's host code saw the inputs and made the outputs: nothing is sealed");
  for (std::size_t i = 0; i < pool.cases.size(); ++i) {
    auto judged = judge_one(problem, pool.cases[i], results.at(i));
    outcome.record.cases.push_back(std::move(judged.result));
    if (!judged.fault) {
      continue;
    }
    outcome.failure = outcome.failure ? outcome.failure : judged.fault->status;
    const auto same = [&](const Finding& known) {
      return known.kind == judged.fault->finding.kind;
    };
    if (std::none_of(outcome.findings.begin(), outcome.findings.end(), same)) {
      outcome.findings.push_back(judged.fault->finding);
    }
  }
  return outcome;
}

}  // namespace ouroboros::referee::device
