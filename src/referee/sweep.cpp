#include <fmt/format.h>

#include <algorithm>

#include "judge/runs/run.hpp"
#include "referee/arena_tensors.hpp"
#include "referee/device/device.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee {
namespace {

constexpr std::uint64_t poison_purpose = 1;

CaseResult not_run(const judge::CaseSpec& spec) {
  CaseResult result;
  result.id = spec.id;
  result.dtype = to_string(spec.dtype);
  result.axes = spec.axes;
  result.family = judge::family_name(spec);
  result.placement = "both";
  result.status = "not_run";
  return result;
}

std::string describe(const judge::CaseSpec& spec) {
  std::string axes;
  for (const auto& [name, value] : spec.axes) {
    axes += fmt::format("{}{}={}", axes.empty() ? "" : ", ", name, value);
  }
  return fmt::format("case {} ({}, {}, family {})", spec.id, to_string(spec.dtype), axes,
                     spec.family);
}

/// Runs the cases in one session, each at both ends of its pages.
class Sweep {
 public:
  Sweep(const Problem& problem, const CasePool& pool, const Options& options, const Opener& open,
        judge::Arithmetic arithmetic)
      : problem_(problem), pool_(pool), options_(options), arithmetic_(arithmetic) {
    std::vector<Call> calls;
    for (const auto& one : pool.cases) {
      calls.push_back(judge::call_for(problem, one));
      outcome_.record.cases.push_back(not_run(one.spec));
    }
    arena_ = std::make_shared<const Arena>(calls);
    session_ = open(calls, arena_);
    outcome_.isolation = session_->isolation();
  }

  SweepOutcome run() {
    auto& record = outcome_.record;
    record.ran = true;
    record.cases_total = static_cast<int>(pool_.cases.size());
    if (session_->opening().outcome != Outcome::returned) {
      blame(session_->opening(), "");
      return std::move(outcome_);
    }
    for (std::size_t i = 0; i < pool_.cases.size(); ++i) {
      check_cancelled(options_);
      const bool alive = run_case(i);
      arena_->release(i);
      record.cases_passed += record.cases[i].status == "passed";
      record.max_error_over_allowed =
          std::max(record.max_error_over_allowed, record.cases[i].error_over_allowed);
      if (!alive) {
        break;
      }
    }
    return std::move(outcome_);
  }

 private:
  void blame(const Replay& replay, const std::string& where) {
    auto [status, finding] = misconduct(replay, where.empty() ? "load" : "sweep");
    finding.evidence += where;
    fail(status, std::move(finding));
  }

  void fail(Status status, Finding finding) {
    if (!outcome_.failure) {
      outcome_.failure = status;
    }
    find(std::move(finding));
  }

  void find(Finding finding) {
    // One of each kind: every case has its own message in the record.
    const auto same = [&finding](const Finding& one) { return one.kind == finding.kind; };
    if (std::none_of(outcome_.findings.begin(), outcome_.findings.end(), same)) {
      outcome_.findings.push_back(std::move(finding));
    }
  }

  /// False when the candidate cannot go on.
  bool run_case(std::size_t index) {
    const auto& one = pool_.cases[index];
    auto& result = outcome_.record.cases[index];
    Tensors first;
    for (const auto placement : {Placement::low, Placement::high}) {
      const auto seed = derive_seed(one.spec.seed, poison_purpose + (placement == Placement::high));
      arena_->poison(index, placement, seed);
      const auto views = arena_tensors(*arena_, index, placement);
      for (std::size_t i = 0; i < one.inputs.size(); ++i) {
        copy_bytes(one.inputs[i], views.inputs[i]);
      }
      const auto replay = session_->replay(index, placement);
      outcome_.replay_s += std::chrono::duration<double>(replay.wall).count();
      outcome_.kernels_s += std::chrono::duration<double>(replay.elapsed).count();
      const std::string where =
          fmt::format(", in {} with buffers at the {} end of their pages{}", describe(one.spec),
                      placement == Placement::low ? "low" : "high",
                      replay.hindered ? ", and other work on some multiprocessors" : "");
      if (replay.outcome != Outcome::returned) {
        result.status = "failed";
        result.message = replay.evidence;
        blame(replay, where);
        return false;
      }
      if (const auto damage = arena_->slack_damage(index, placement, seed)) {
        result.status = "failed";
        result.message = *damage;
        fail(Status::runtime_error, {"write_out_of_bounds", "error", "sweep", *damage + where});
        return true;
      }
      // The second replay sees the same inputs, another poison and other addresses, on a GPU
      // beside other work.
      const bool differs = placement == Placement::high && !same_bits(first, views.outputs);
      if (placement == Placement::low || (differs && result.status == "passed")) {
        const auto error = result.error_over_allowed;
        result = judge::compare(problem_, one, views.outputs, arithmetic_);
        result.error_over_allowed = std::max(result.error_over_allowed, error);
        if (result.status == "failed") {
          explain_wrong_values(index, placement, seed, result, where);
        }
      }
      if (differs) {
        explain_difference(result, where);
      }
      if (placement == Placement::low) {
        first = clones(views.outputs);
      }
    }
    result.placement = "both";
    return true;
  }

  void explain_wrong_values(std::size_t index, Placement placement, std::uint64_t seed,
                            CaseResult& result, const std::string& where) {
    if (const auto unwritten = find_unwritten(index, placement, seed, result.output)) {
      result.message = *unwritten;
      fail(Status::incorrect, {"unwritten_output", "error", "sweep", *unwritten + where});
    } else {
      const auto& spec = pool_.cases[index].spec;
      fail(Status::incorrect,
           {"wrong_values", "error", "sweep", result.message + judge::in_case(spec)});
    }
  }

  /// Of the output that is wrong: what is right may happen to be what was there before.
  [[nodiscard]] std::optional<std::string> find_unwritten(std::size_t index, Placement placement,
                                                          std::uint64_t seed,
                                                          const std::string& output) const {
    const auto& buffers = arena_->calls()[index].buffers;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].role == BufferRole::output && buffers[i].name == output) {
        return arena_->unwritten(index, i, placement, seed);
      }
    }
    return std::nullopt;
  }

  void explain_difference(CaseResult& result, const std::string& where) {
    if (result.status == "passed" && arithmetic_ == judge::Arithmetic::gpu) {
      find({"nondeterministic", "note", "sweep",
            "results of two runs on the same inputs differ in some bits, and both are right" +
                where});
      return;
    }
    if (result.status == "passed") {
      result.status = "failed";
      result.message = "the result differs between two runs on the same inputs";
    }
    fail(Status::incorrect,
         {"nondeterministic", "error", "sweep",
          "gave different results for the same inputs at other addresses and after another poison: "
          "it depends on more than its inputs" +
              where});
  }

  const Problem& problem_;
  const CasePool& pool_;
  const Options& options_;
  const judge::Arithmetic arithmetic_;
  std::shared_ptr<const Arena> arena_;
  std::unique_ptr<Session> session_;
  SweepOutcome outcome_;
};

}  // namespace

SweepOutcome run_cases(const Problem& problem, const CasePool& pool, const Options& options,
                       const Opener& open, judge::Arithmetic arithmetic) {
  return Sweep(problem, pool, options, open, arithmetic).run();
}

SweepOutcome sweep(const Problem& problem, const Compiled& compiled, const CasePool& pool,
                   const Options& options) {
  const bool on_device = device::serves(compiled.candidate.language);
  auto outcome =
      on_device
          ? device::sweep(problem, compiled, pool, options)
          : run_cases(
                problem, pool, options,
                [&](const std::vector<Call>& calls, const std::shared_ptr<const Arena>& arena) {
                  return make_host_executor(options.limits, options.cancelled)
                      ->open({compiled.image, calls}, arena);
                },
                judge::Arithmetic::host);
  const auto has = [](const auto& values, const auto& value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  const auto judged = judged_dtypes(problem, compiled, options);
  for (const auto dtype : on_device ? device::dtypes(problem) : judge::host_dtypes(problem)) {
    if (has(judged, dtype)) {
      outcome.record.dtypes.emplace_back(to_string(dtype));
    } else if (!has(compiled.record.entries, judge::entry_point(dtype))) {
      outcome.record.dtypes_missing.emplace_back(to_string(dtype));
    }
  }
  return outcome;
}

}  // namespace ouroboros::referee
