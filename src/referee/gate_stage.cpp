#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "ouroboros/error.hpp"
#include "referee/comparison.hpp"
#include "referee/recording.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee {
namespace {

/// Of each process. The rule's simulated pass rates assume a standard error of 0.15 % in each
/// (docs/timing.md), for which kernels of some microseconds need many.
constexpr int most_blocks = 256;
constexpr std::uint64_t gate_purpose = 100;

/// So many processes may be replaced because the machine did not hold still while they ran. Which
/// ones are is decided without looking at the ratio, so that it favours nobody.
constexpr int most_void = 1;

/// So much of the time may others compute while a process runs: a desktop does. Company that leaves
/// the clock where it is voids no block, and may slow one arm more than the other: a ratio found
/// in it was 1.1 % off (benchmarks/results/h200/clock_gate_in_company.json).
constexpr int most_busy_percent = 5;

/// What a fresh pair of processes measured: the candidate, a copy of it and the baseline.
struct Process {
  std::vector<timing::Block> blocks;
  Race::Method method;
  std::size_t candidate = 0;
  std::size_t copy = 0;
  std::size_t baseline = 0;
};

/// The candidate and its copy as one arm, which remembers what either does: of each block its first
/// sample, when neither had met the inputs, and its last.
std::vector<timing::Block> as_one(const Process& process) {
  std::vector<timing::Block> result;
  for (const auto& block : process.blocks) {
    std::vector<timing::Sample> either;
    std::vector<timing::Sample> theirs;
    for (auto sample : block.samples) {
      if (sample.arm == process.copy) sample.arm = process.candidate;
      if (sample.arm == process.candidate) either.push_back(sample);
      if (sample.arm == process.baseline) theirs.push_back(sample);
    }
    auto one = block;
    one.samples = {either.front(), theirs.front(), theirs.back(), either.back()};
    result.push_back(std::move(one));
  }
  return result;
}

/// Whether first meetings alone may be compared. One answer for all processes: first and second
/// meetings differ, so that processes which rest on other ones would differ as well.
bool first_meetings_only(const std::vector<Process>& processes) {
  const auto& one = processes.front();
  std::vector<timing::Block> all;
  for (const auto& process : processes) {
    auto blocks = as_one(process);
    all.insert(all.end(), std::make_move_iterator(blocks.begin()),
               std::make_move_iterator(blocks.end()));
  }
  return fair(all, one.candidate, one.baseline, one.method).first_only;
}

timing::GateRun run_of(const Process& process, bool first_only, double trim) {
  const double offset = process.method.offset_us.estimate;
  const auto blocks =
      first_only ? timing::first_meetings(as_one(process)) : std::vector(process.blocks);
  const auto mean =
      timing::trimmed_mean(timing::log_ratios(blocks, process.candidate, process.baseline, offset),
                           trim, timing::codes(blocks));
  const auto same = timing::trimmed_mean(
      timing::log_ratios(process.blocks, process.candidate, process.copy, offset), trim);
  return {mean.mean, mean.standard_error, same.mean};
}

/// Throws `Error{unstable}` where others have computed on the GPU meanwhile.
void require_alone(Race& race) {
  const auto state = race.gpu_state();
  if (state && state->other_busy_percent > most_busy_percent) {
    throw Error(ErrorCode::unstable,
                fmt::format("other processes computed on this GPU for {} % of the time, and a "
                            "ratio that is found in such company is not what the kernel has alone: "
                            "run the gate when they have ended",
                            state->other_busy_percent));
  }
}

/// Runs the candidate against a baseline, and against its own copy, in one fresh pair of processes.
/// Empty when the candidate misbehaved. `trace`: the file that its blocks are left in. Throws
/// `Error{unstable}` where the machine does not hold still.
std::optional<Process> measured(Race& race, std::size_t baseline_index, const std::string& trace,
                                const Options& options) {
  Process process;
  process.candidate = race.add_candidate();
  process.copy = race.add_candidate();
  process.baseline = race.add_baseline(baseline_index);
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
  static_cast<void>(race.gpu_state());  // What others do counts from here on.
  recording.extend_to(static_cast<std::size_t>(within.timing.looks.back()));
  if (race.failure()) {
    return std::nullopt;
  }
  recording.keep(trace);
  require_alone(race);
  static_cast<void>(recording.may_be_judged());  // Throws, as no more blocks may be run.
  process.blocks = recording.blocks();
  process.method = race.method();
  return process;
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
  auto& record = outcome.record;
  record.ran = true;
  std::vector<Process> processes;
  for (int k = 0; k < options.gate.runs + record.runs_void; ++k) {
    check_cancelled(options);
    const auto run_seed = derive_seed(seed, gate_purpose + static_cast<std::uint64_t>(k));
    const judge::CaseSpec spec{k, dtypes.front(), cells.front(), "normal", run_seed};
    require_memory(problem, {&spec, 1});
    // A race of its own: fresh processes, fresh pages, fresh order.
    const auto race = make_race(problem, compiled, spec, run_seed, options, Context::fresh);
    const auto baseline = choose_baseline(race->baselines());
    if (!baseline) {
      record.reasons.emplace_back("no baseline can run here");
      return outcome;
    }
    record.baseline = race->baselines()[*baseline].name;
    const auto trace = fmt::format("gate{}-{:016x}.json", k, run_seed);
    std::optional<Process> process;
    try {
      process = measured(*race, *baseline, trace, options);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unstable || record.runs_void == most_void) throw;
      ++record.runs_void;
      continue;
    }
    if (!process) {
      outcome.failure = race->failure()->status;
      outcome.findings.push_back(race->failure()->finding);
      outcome.findings.back().stage = "gate";
      return outcome;
    }
    processes.push_back(*std::move(process));
  }
  const bool first_only = first_meetings_only(processes);
  std::vector<timing::GateRun> runs;
  for (const auto& process : processes) {
    runs.push_back(run_of(process, first_only, options.timing.trim));
  }
  const auto gate = timing::gate(runs, options.gate);
  record.passed = gate.passed;
  record.runs = static_cast<int>(runs.size());
  record.speedup = {gate.speedup, gate.safe_speedup, std::exp(-gate.log_ratio.low)};
  record.safe_speedup = gate.safe_speedup;
  record.aa_spread = gate.aa_spread;
  record.between_process_sd = gate.between_process_sd;
  record.reasons = gate.reasons;
  for (const auto& run : runs) {
    record.process_speedups.push_back(std::exp(-run.log_ratio));
    record.copy_speedups.push_back(std::exp(-run.log_ratio_aa));
  }
  return outcome;
}

}  // namespace ouroboros::referee
