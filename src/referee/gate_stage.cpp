#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "referee/comparison.hpp"
#include "referee/recording.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee {
namespace {

constexpr int most_blocks = 64;
constexpr std::uint64_t gate_purpose = 100;

/// The candidate and its copy as one arm, which remembers what either does: of each block its first
/// sample, when neither had met the inputs, and its last.
std::vector<timing::Block> as_one(const std::vector<timing::Block>& blocks, std::size_t candidate,
                                  std::size_t copy, std::size_t baseline) {
  std::vector<timing::Block> result;
  for (const auto& block : blocks) {
    std::vector<timing::Sample> either;
    std::vector<timing::Sample> theirs;
    for (auto sample : block.samples) {
      if (sample.arm == copy) sample.arm = candidate;
      if (sample.arm == candidate) either.push_back(sample);
      if (sample.arm == baseline) theirs.push_back(sample);
    }
    auto one = block;
    one.samples = {either.front(), theirs.front(), theirs.back(), either.back()};
    result.push_back(std::move(one));
  }
  return result;
}

/// The blocks that a run may rest on: all as they are, or first meetings alone.
std::vector<timing::Block> fair_blocks(const std::vector<timing::Block>& all, const Race& race,
                                       std::size_t candidate, std::size_t copy,
                                       std::size_t baseline) {
  auto found = fair(as_one(all, candidate, copy, baseline), candidate, baseline, race.method());
  return found.first_only ? std::move(found.blocks) : all;
}

/// One fresh pair of processes: candidate against baseline, and against its own copy.
/// Empty when the candidate misbehaved. `trace`: the file that its blocks are left in.
std::optional<timing::GateRun> run_once(Race& race, std::size_t baseline_index,
                                        const std::string& trace, const Options& options) {
  const auto candidate = race.add_candidate();
  const auto copy = race.add_candidate();
  const auto baseline = race.add_baseline(baseline_index);
  if (!race.failure()) {
    race.warm_up();
  }
  if (race.failure()) {
    return std::nullopt;
  }
  // As many blocks in every process, whatever they show. A run that ends where a large effect is
  // beyond doubt is a rough one, and its noise would pass for a difference between processes.
  Options within = options;
  within.mode = timing::Mode::report;
  within.timing.looks = {std::min(most_blocks, options.timing.looks.back())};
  Recording recording(race, within);
  recording.extend_to(static_cast<std::size_t>(within.timing.looks.back()));
  if (race.failure()) {
    return std::nullopt;
  }
  recording.keep(trace);
  static_cast<void>(recording.may_be_judged());  // Throws where nothing can be measured.
  const double offset = race.method().offset_us.estimate;
  const auto blocks = fair_blocks(recording.blocks(), race, candidate, copy, baseline);
  const auto mean = timing::trimmed_mean(timing::log_ratios(blocks, candidate, baseline, offset),
                                         within.timing.trim);
  const auto same = timing::trimmed_mean(
      timing::log_ratios(recording.blocks(), candidate, copy, offset), within.timing.trim);
  return timing::GateRun{mean.mean, mean.standard_error, same.mean};
}

/// The strictest baseline that can run: "compile" where there is one. Empty where none can.
std::optional<std::size_t> choose_baseline(const std::vector<Race::Entry>& entries) {
  std::optional<std::size_t> chosen;
  for (std::size_t i = entries.size(); i-- > 0;) {
    const bool best = chosen && entries[*chosen].name == "compile";
    if (entries[i].unavailable.empty() && !best) {
      chosen = i;
    }
  }
  return chosen;
}

}  // namespace

GateOutcome gate(const Problem& problem, const Compiled& compiled, std::uint64_t seed,
                 const Options& options) {
  GateOutcome outcome;
  const auto dtypes = judged_dtypes(problem, compiled, options);
  const auto& cells = timed_cells(problem, compiled);
  if (dtypes.empty() || cells.empty()) {
    return outcome;
  }
  outcome.record.ran = true;
  std::vector<timing::GateRun> runs;
  for (int k = 0; k < options.gate.runs; ++k) {
    check_cancelled(options);
    const auto run_seed = derive_seed(seed, gate_purpose + static_cast<std::uint64_t>(k));
    const judge::CaseSpec spec{k, dtypes.front(), cells.front(), "normal", run_seed};
    require_memory(problem, spec);
    // A race of its own: fresh processes, fresh pages, fresh order.
    const auto race = make_race(problem, compiled, spec, run_seed, options, Context::fresh);
    const auto baseline = choose_baseline(race->baselines());
    if (!baseline) {
      outcome.record.reasons.emplace_back("no baseline can run here");
      return outcome;
    }
    outcome.record.baseline = race->baselines()[*baseline].name;
    const auto trace = fmt::format("gate{}-{:016x}.json", k, run_seed);
    const auto run = run_once(*race, *baseline, trace, options);
    if (!run) {
      outcome.failure = race->failure()->status;
      outcome.findings.push_back(race->failure()->finding);
      outcome.findings.back().stage = "gate";
      return outcome;
    }
    runs.push_back(*run);
  }
  const auto gate = timing::gate(runs, options.gate);
  auto& record = outcome.record;
  record.passed = gate.passed;
  record.runs = static_cast<int>(runs.size());
  record.speedup = {gate.speedup, gate.safe_speedup, std::exp(-gate.log_ratio.low)};
  record.safe_speedup = gate.safe_speedup;
  record.aa_spread = gate.aa_spread;
  record.between_process_sd = gate.between_process_sd;
  record.reasons = gate.reasons;
  return outcome;
}

}  // namespace ouroboros::referee
