#include "referee/device/interpreter.hpp"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "judge/base/tensors.hpp"
#include "judge/runs/run.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/tracer.hpp"

namespace ouroboros::referee::device {
namespace {

constexpr std::uint64_t variants_purpose = 3;

/// A case with fewer elements may not show what is wrong.
constexpr std::int64_t telling_elements = 1024;

TraceSignature signature_for(const Problem& problem, const judge::Case& one, const LaunchPlan& plan,
                             const std::vector<std::byte>& sources) {
  TraceSignature signature;
  signature.outputs = problem.outputs;
  signature.values = {plan.serialise(), sources};
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
    const auto type = scalar_type(output.dtype);
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
    // What the interpreter does not know is no fault of the candidate's: the case was not judged.
    judged.result.status = status == Status::infrastructure_error ? "not_run" : "failed";
    judged.result.message = text;
    const auto* severity = status == Status::rejected ? "cheat" : "error";
    judged.fault = Misconduct{status, {kind, severity, "sweep", text + judge::in_case(one.spec)}};
  };
  if (result.refusal) {
    const auto& [kind, op, message, traceback] = *result.refusal;
    fail(kind == "timeout"       ? Status::timeout
         : kind == "unsupported" ? Status::infrastructure_error
         : kind == "other_image" ? Status::rejected
                                 : Status::runtime_error,
         kind, message);
  } else if (const auto outputs = outputs_of(one, result)) {
    judged.result = judge::compare(problem, one, *outputs, judge::Arithmetic::gpu);
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
  judged.result.family = judge::family_name(one.spec);
  judged.result.placement = "low";
  return judged;
}

std::int64_t elements(const judge::Case& one) {
  return std::accumulate(
      one.inputs.begin(), one.inputs.end(), std::int64_t{0},
      [](std::int64_t sum, const at::Tensor& input) { return sum + input.numel(); });
}

/// The smallest case that shows something, of those with the most plans.
std::size_t small_case(const CasePool& pool, const std::vector<Planned>& planned) {
  const auto rank = [&](std::size_t i) {
    const auto size = elements(pool.cases[i]);
    // Where none is large enough, the largest.
    return std::tuple(-static_cast<std::ptrdiff_t>(planned[i].variants.size()),
                      size < telling_elements, size < telling_elements ? -size : size);
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < pool.cases.size(); ++i) {
    if (rank(i) < rank(best)) best = i;
  }
  return best;
}

}  // namespace

std::vector<Interpretation> interpretations(const CasePool& pool,
                                            const std::vector<Planned>& planned) {
  std::vector<std::size_t> order(pool.cases.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto drawn = [&](std::size_t i) {
    return derive_seed(pool.cases[i].spec.seed, variants_purpose);
  };
  std::ranges::sort(order, {}, drawn);
  std::vector<Interpretation> all;
  std::map<std::size_t, int> met;
  for (const auto i : order) {
    const auto count = planned[i].variants.size();
    if (count == 0) continue;
    std::size_t least = drawn(i) % count;
    for (std::size_t variant = 0; variant < count; ++variant) {
      if (met[variant] < met[least]) least = variant;
    }
    ++met[least];
    all.push_back({i, least});
  }
  if (all.empty()) return all;
  // What goes wrong is told in the cases' order.
  std::ranges::sort(all, {}, &Interpretation::which);
  const auto small = small_case(pool, planned);
  for (std::size_t variant = 0; variant < planned[small].variants.size(); ++variant) {
    const auto same = [&](const Interpretation& one) {
      return one.which == small && one.variant == variant;
    };
    if (std::ranges::none_of(all, same)) all.push_back({small, variant});
  }
  return all;
}

SweepOutcome interpret_cases(const Problem& problem, const Candidate& candidate,
                             const CasePool& pool, const std::vector<Planned>& planned,
                             const std::vector<Interpretation>& which, const Options& options) {
  TraceRequest request;
  request.operation = "interpret";
  request.name = candidate.name;
  request.language = candidate.language;
  request.target = options.device.target;
  // An interpreter is slow: each case may take what a replay may.
  request.seconds = options.limits.compile_seconds +
                    options.limits.replay_seconds * static_cast<double>(which.size());
  for (const auto& [i, variant] : which) {
    const auto& [variants, fault, sources] = planned[i];
    request.signatures.push_back(
        signature_for(problem, pool.cases[i], variants[variant],
                      sources.empty() ? std::vector<std::byte>{} : sources[variant]));
  }
  auto results = options.device.tracer->trace(request);

  SweepOutcome outcome;
  outcome.isolation = results.front().isolation;
  outcome.isolation.level = "interpreted";
  outcome.isolation.sealed = false;
  outcome.isolation.missing.insert(
      outcome.isolation.missing.begin(),
      "the texts of the kernels were interpreted: the plan's machine code has not run");
  for (std::size_t i = 0; i < which.size(); ++i) {
    const auto& variants = planned[which[i].which].variants;
    auto judged = judge_one(problem, pool.cases[which[i].which], results.at(i));
    if (judged.fault && variants.size() > 1) {
      const auto text = fmt::format(" (with {})", variants[which[i].variant].variant);
      judged.result.message += text;
      judged.fault->finding.evidence += text;
    }
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
