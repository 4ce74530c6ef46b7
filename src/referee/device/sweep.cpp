#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ouroboros/error.hpp"
#include "referee/device/company.hpp"
#include "referee/device/decoy.hpp"
#include "referee/device/device.hpp"
#include "referee/device/gpu.hpp"
#include "referee/device/interpreter.hpp"
#include "referee/device/launch_times.hpp"
#include "referee/device/out_of_step.hpp"
#include "referee/device/plan_source.hpp"

namespace ouroboros::referee::device {
namespace {

CaseResult without_plan(const judge::CaseSpec& spec, const Finding& finding) {
  CaseResult result;
  result.id = spec.id;
  result.dtype = to_string(spec.dtype);
  result.axes = spec.axes;
  result.family = judge::family_name(spec);
  result.placement = "both";
  result.status = "failed";
  result.message = finding.evidence;
  return result;
}

/// Puts the results of some cases, in order, where they belong, worst first.
void merge(SweepOutcome& all, SweepOutcome&& some, const std::vector<std::size_t>& places) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    auto& have = all.record.cases[places[i]];
    auto& got = some.record.cases[i];
    const bool better = have.status == "passed" && got.status != "failed" &&
                        got.error_over_allowed <= have.error_over_allowed;
    if (!better && have.status != "failed") {
      have = std::move(got);
    }
  }
  all.isolation = std::move(some.isolation);
  all.replay_s += some.replay_s;
  all.kernels_s += some.kernels_s;
  if (!all.failure) {
    all.failure = some.failure;
  }
  for (auto& finding : some.findings) {
    const auto same = [&finding](const Finding& one) { return one.kind == finding.kind; };
    if (std::none_of(all.findings.begin(), all.findings.end(), same)) {
      all.findings.push_back(std::move(finding));
    }
  }
}

/// Replays every variant on the GPU: each autotune configuration has to be right, not only the one
/// that is timed.
void replay_all(SweepOutcome& outcome, const Problem& problem, PlanSource& source,
                const CasePool& pool, std::vector<Planned>& planned, std::size_t most_variants,
                const Options& options, GpuUse use) {
  Gpu gpu(options, use);
  for (std::size_t round = 0; round < most_variants; ++round) {
    CasePool some;
    std::vector<std::size_t> places;
    std::vector<LaunchPlan> plans;
    for (std::size_t i = 0; i < pool.cases.size(); ++i) {
      if (round < planned[i].variants.size()) {
        some.cases.push_back(pool.cases[i]);
        places.push_back(i);
        plans.push_back(std::move(planned[i].variants[round]));
      }
    }
    LaunchTimes times;
    const auto replayed = [&](const std::vector<Call>&, const std::shared_ptr<const Arena>& arena) {
      return recorded(gpu.executor().open(plans, arena), plans, times);
    };
    auto judged = run_cases(problem, some, options, replayed, judge::Arithmetic::gpu);
    if (!judged.failure) {
      if (auto decoy = find_decoys(problem, some.cases, plans, gpu.executor(), options)) {
        if (decoy->severity == "cheat") {
          judged.failure = Status::rejected;
        }
        judged.findings.push_back(std::move(*decoy));
      }
    }
    if (!judged.failure) {
      if (auto race = find_race(problem, some.cases, plans, source, gpu.executor(), options)) {
        judged.failure = Status::incorrect;
        judged.findings.push_back(std::move(*race));
      }
    }
    if (round == 0) {
      outcome.device_time_share = times.shares();
      if (problem.policies.library_kernels == LibraryKernels::report &&
          times.libraries.count() > 0) {
        judged.findings.push_back(
            {"library_kernels", "note", "sweep",
             fmt::format("library kernels take {:.0f} % of the device's time",
                         100.0 * static_cast<double>(times.libraries.count()) /
                             static_cast<double>(times.all.count()))});
      }
    }
    merge(outcome, std::move(judged), places);
  }
  // What is judged was recorded before any secret input existed.
  outcome.isolation.sealed = true;
  if (outcome.isolation.level == "sandboxed") {
    outcome.isolation.level = "sealed";
  }
}

/// Interprets every case with one of its plans, and a small one with all.
void interpret_some(SweepOutcome& outcome, const Problem& problem, const Candidate& candidate,
                    const CasePool& pool, const std::vector<Planned>& planned,
                    const Options& options) {
  const auto which = interpretations(pool, planned);
  std::vector<std::size_t> places;
  for (const auto& one : which) places.push_back(one.which);
  merge(outcome, interpret_cases(problem, candidate, pool, planned, which, options), places);
}

}  // namespace

std::optional<Finding> cannot_time(const Options& options) {
  if (Gpu::present(options)) {
    return std::nullopt;
  }
  return Finding{"not_timed", "note", "time",
                 "there is no GPU here: correctness was judged in Triton's interpreter; not timed, "
                 "not sealed"};
}

SweepOutcome sweep(const Problem& problem, const Compiled& compiled, const CasePool& pool,
                   const Options& options) {
  std::vector<PlanRequest> requests;
  for (const auto& one : pool.cases) {
    requests.push_back({one.spec.dtype, one.spec.axes, judge::call_for(problem, one).buffers});
  }
  auto planned = audited_plans(*compiled.plans, problem, requests);

  SweepOutcome outcome;
  outcome.record.ran = true;
  outcome.record.cases_total = static_cast<int>(pool.cases.size());
  std::size_t most_variants = 0;
  for (std::size_t i = 0; i < pool.cases.size(); ++i) {
    outcome.record.cases.emplace_back();
    most_variants = std::max(most_variants, planned[i].variants.size());
    if (planned[i].fault) {
      const auto& [status, finding] = *planned[i].fault;
      outcome.record.cases[i] = without_plan(pool.cases[i].spec, finding);
      if (!outcome.failure) {
        outcome.failure = status;
        outcome.findings.push_back(finding);
        outcome.findings.back().stage = "sweep";
      }
    }
  }
  const bool present = Gpu::present(options);
  if (!present && compiled.candidate.language != "triton") {
    outcome.record = {};
    outcome.failure = Status::infrastructure_error;
    outcome.findings = {{"no_gpu", "error", "sweep",
                         fmt::format("compiled for {} and audited, but not run: there is no GPU "
                                     "here, and only Triton has an interpreter",
                                     compiled.record.target)}};
    return outcome;
  }
  if (most_variants > 0 && present) {
    const auto replayed = [&](GpuUse use) {
      auto made = outcome;
      // The first time uses them up.
      if (use == GpuUse::time) planned = audited_plans(*compiled.plans, problem, requests);
      replay_all(made, problem, *compiled.plans, pool, planned, most_variants, options, use);
      return made;
    };
    outcome = outcome.failure ? replayed(GpuUse::replay) : beside_others(replayed);
  } else if (most_variants > 0) {
    interpret_some(outcome, problem, compiled.candidate, pool, planned, options);
  }
  for (const auto& one : outcome.record.cases) {
    outcome.record.cases_passed += one.status == "passed";
    outcome.record.max_error_over_allowed =
        std::max(outcome.record.max_error_over_allowed, one.error_over_allowed);
  }
  return outcome;
}

}  // namespace ouroboros::referee::device
