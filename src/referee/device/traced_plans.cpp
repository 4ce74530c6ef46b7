#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <mutex>

#include "ouroboros/error.hpp"
#include "ouroboros/tracer.hpp"
#include "referee/device/plan_source.hpp"

namespace ouroboros::referee::device {
namespace {

/// What a refusal of the tracer says of the candidate.
Misconduct misconduct_of(const TraceRefusal& refusal, bool library_kernels) {
  const auto finding = [&](const std::string& severity, const std::string& text) {
    return Finding{refusal.kind, severity, "compile", text};
  };
  if (refusal.kind == "needs_device") {
    if (library_kernels) {
      // Nothing was learnt about the candidate: what it does is allowed.
      return {Status::infrastructure_error,
              finding("error", fmt::format("the host code calls {}, which can only be traced on a "
                                           "GPU, and that is not done for candidates yet",
                                           refusal.op))};
    }
    return {Status::rejected,
            finding("cheat", fmt::format("calls {} in its host code, and the problem forbids "
                                         "library kernels: {}",
                                         refusal.op, refusal.message))};
  }
  if (refusal.kind == "compile_error" || refusal.kind == "unsupported") {
    return {Status::compile_error, finding("error", refusal.message)};
  }
  if (refusal.kind == "timeout") {
    return {Status::timeout, finding("error", refusal.message)};
  }
  if (refusal.kind == "signature") {
    return {Status::incorrect, finding("error", refusal.message)};
  }
  if (refusal.kind == "malformed_plan") {
    return {Status::rejected, finding("cheat", refusal.message)};
  }
  return {Status::runtime_error, finding("error", refusal.message)};
}

/// Traces every call once, all that are asked for together in one process.
class TracedPlans final : public PlanSource {
 public:
  TracedPlans(const Problem& problem, const Candidate& candidate, const std::string& target,
              const Options& options)
      : tracer_(options.device.tracer),
        outputs_(problem.outputs),
        library_kernels_(problem.policies.library_kernels != LibraryKernels::forbid),
        log_bytes_(static_cast<std::size_t>(options.limits.log_kib) * 1024) {
    if (!tracer_) {
      throw Error(ErrorCode::unsupported,
                  "Triton candidates need a tracer: from Python install `triton`, from C++ set "
                  "Options::device.tracer");
    }
    request_.source = candidate.source;
    request_.name = candidate.name;
    request_.language = candidate.language;
    request_.target = target;
    request_.max_variants = max_variants;
    record_.compiler = "triton";
  }

  std::vector<Planned> plans(const std::vector<PlanRequest>& requests) override {
    const std::lock_guard guard(mutex_);
    std::vector<Key> keys;
    auto wanted = request_;
    std::vector<Key> missing;
    for (const auto& request : requests) {
      TraceSignature signature;
      Key key;
      for (auto& buffer : signature_of(request.buffers)) {
        if (buffer.role != PlanRole::input) continue;
        key += fmt::format("{}:{};", to_string(buffer.dtype), fmt::join(buffer.shape, ","));
        signature.inputs.push_back(std::move(buffer));
      }
      signature.outputs = outputs_;
      keys.push_back(key);
      if (!known_.contains(key)) {
        known_[key];  // A shape that several cases share is traced once.
        missing.push_back(key);
        wanted.signatures.push_back(std::move(signature));
      }
    }
    if (!missing.empty()) {
      trace(wanted, missing);
    }
    std::vector<Planned> all;
    for (const auto& key : keys) {
      all.push_back(known_.at(key));
    }
    return all;
  }

  [[nodiscard]] Compilation record() const override {
    const std::lock_guard guard(mutex_);
    return record_;
  }

 private:
  using Key = std::string;

  void trace(const TraceRequest& wanted, const std::vector<Key>& missing) {
    std::vector<TraceResult> results;
    try {
      results = tracer_->trace(wanted);
    } catch (...) {
      for (const auto& key : missing) known_.erase(key);
      throw;
    }
    for (std::size_t i = 0; i < missing.size(); ++i) {
      auto& planned = known_.at(missing[i]);
      auto& result = results.at(i);
      record_.duration_ms += result.seconds * 1e3;
      if (record_.log.empty()) {
        record_.log = result.log;
      }
      for (const auto& note : result.notes) log_once(note);
      if (result.refusal) {
        planned.fault = misconduct_of(*result.refusal, library_kernels_);
        log_once(result.refusal->traceback);
      } else {
        planned.variants = std::move(result.variants);
      }
    }
  }

  void log_once(const std::string& text) {
    const bool fits = record_.log.size() + text.size() < log_bytes_;
    if (fits && record_.log.find(text) == std::string::npos) {
      record_.log += (record_.log.empty() ? "" : "\n") + text;
    }
  }

  std::shared_ptr<Tracer> tracer_;
  std::vector<std::string> outputs_;
  bool library_kernels_;
  std::size_t log_bytes_;
  TraceRequest request_;
  mutable std::mutex mutex_;
  std::map<Key, Planned> known_;
  Compilation record_;
};

}  // namespace

std::shared_ptr<PlanSource> traced_plans(const Problem& problem, const Candidate& candidate,
                                         const std::string& target, const Options& options) {
  return std::make_shared<TracedPlans>(problem, candidate, target, options);
}

}  // namespace ouroboros::referee::device
