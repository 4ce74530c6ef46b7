#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "ouroboros/error.hpp"
#include "referee/comparison.hpp"
#include "referee/device/device.hpp"
#include "referee/odd_cell.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee {
namespace {

constexpr double interval_alpha = 0.05;
constexpr std::uint64_t sign_flip_purpose = 3;
constexpr std::uint64_t probe_purpose = 4;

/// No memory is faster than its bus; so much is left for rounding and for clocks.
constexpr double beyond_peak = 1.02;

/// With the one among the blocks, one of each kind.
constexpr int probes_at_the_end = 2;

/// One baseline in the race.
struct Opponent {
  std::size_t arm = 0;
  std::size_t index = 0;  ///< In the record.
};

/// Runs blocks until every comparison may stop. False when the candidate misbehaved meanwhile.
bool record_blocks(Race& race, Recording& recording, std::vector<Comparison>& comparisons,
                   std::uint64_t seed, std::span<const int> looks) {
  const auto first = static_cast<std::size_t>(looks.front());
  // A probe stands among the blocks at a place that the candidate cannot know.
  recording.extend_to(1 + derive_seed(seed, probe_purpose) % first);
  if (!race.failure()) {
    race.probe();
  }
  for (const int look : looks) {
    if (!race.failure()) {
      recording.extend_to(static_cast<std::size_t>(look));
    }
    if (race.failure()) {
      return false;
    }
    if (!recording.may_be_judged()) {
      continue;
    }
    bool running = false;
    for (auto& comparison : comparisons) {
      if (comparison.look(recording)) {
        race.retire(comparison.baseline());
      } else {
        running = true;
      }
    }
    // Alone, a candidate gets its own time over the blocks of the first look.
    if (!running || recording.spent()) {
      break;
    }
  }
  // The candidate cannot know that nothing follows.
  for (int i = 0; i < probes_at_the_end && !race.failure(); ++i) {
    race.probe();
  }
  return !race.failure();
}

/// What the physics of this GPU say of a cell.
void add_limits(const Race& race, const Calibration& calibration, TimedCell& cell,
                std::vector<Finding>& findings) {
  const double latency = cell.latency_us.estimate;
  cell.floor_us = calibration.floor_us(static_cast<double>(race.bytes_read()),
                                       static_cast<double>(race.bytes_written()));
  cell.ceiling_fraction = cell.floor_us / latency;
  if (calibration.peak_gbps == 0) {
    return;
  }
  const double bytes_in_time = calibration.peak_gbps * 1e3 * latency;
  cell.peak_fraction = static_cast<double>(cell.bytes_min) / bytes_in_time;
  // What is written may stay in the cache; what is read cannot come from it.
  const double least_us =
      static_cast<double>(race.bytes_read()) / (beyond_peak * calibration.peak_gbps * 1e3);
  if (cell.latency_us.high < least_us) {
    cell.flags.emplace_back("impossible_speed");
    findings.push_back(
        {"impossible_speed", "note", "time",
         fmt::format("takes {:.3g} us, in which this GPU's memory cannot deliver the inputs "
                     "({:.3g} us at least). Its timed outputs were right: so it does not need all "
                     "of its inputs, and the problem's bytes_min is not what must be moved",
                     latency, least_us)});
  }
}

/// What is said of the candidate's own samples; of those at first meetings, where no others count.
void describe(const Race& race, const Recording& recording, std::size_t candidate, bool first_only,
              const timing::Plan& plan, TimedCell& cell) {
  const auto& method = race.method();
  const auto blocks = first_only ? timing::first_meetings(recording.blocks()) : recording.blocks();
  const double offset = method.offset_us.estimate;
  cell.handover_us = method.handover_us;
  cell.estimator = method.estimator;
  cell.submission = race.submission();
  cell.variant = race.variant();
  cell.code_copies = static_cast<std::int64_t>(race.code_copies());
  cell.latency_us = timing::latency(blocks, candidate, offset, plan.trim, interval_alpha);
  cell.bracket_us = method.estimator == "chain"
                        ? method.bracket_us
                        : timing::latency(blocks, candidate, 0.0, plan.trim, interval_alpha);
  if (timing::multimodality(timing::latencies(blocks, candidate, offset), plan.trim).fired) {
    cell.flags.emplace_back("multimodal");
  }
  if (!race.exclusive()) {
    cell.flags.emplace_back("processor_not_leased");
  }
  for (auto& flag : race.flags()) {
    cell.flags.push_back(std::move(flag));
  }
  if (recording.filter().starving()) {
    cell.flags.emplace_back("starved");
  }
  double clocks = 0;
  std::size_t count = 0;
  for (const auto& block : blocks) {
    for (const auto& sample : block.samples) {
      clocks += sample.clock_mhz;
      ++count;
    }
  }
  cell.clock_mhz = clocks / static_cast<double>(count);
  if (method.same_inputs) {
    cell.placement_sd = timing::placement(blocks, candidate, offset).sd.estimate;
  }
  cell.blocks_void = recording.filter().seen() - recording.filter().admitted();
  using enum timing::Void;
  for (const auto reason : {starved, flush, clock, span}) {
    if (const int voided = recording.filter().count(reason); voided > 0) {
      cell.blocks_void_by.emplace(timing::to_string(reason), voided);
    }
  }
  cell.gpu_ms = race.gpu_ms();
}

/// Says that the GPU slowed itself down while a cell was timed.
void add_slowdowns(const GpuState& before, const GpuState& after, TimedCell& cell) {
  for (const auto& reason : after.slowdowns) {
    cell.flags.push_back("slowdown:" + reason);
  }
  if (after.power_violation_ns > before.power_violation_ns && after.slowdowns.empty()) {
    cell.flags.emplace_back("slowdown:power");
  }
  if (after.thermal_violation_ns > before.thermal_violation_ns && after.slowdowns.empty()) {
    cell.flags.emplace_back("slowdown:thermal");
  }
  if (after.other_processes > 0) {
    cell.flags.emplace_back("gpu_shared");
  }
}

TimedCell time_cell(Race& race, const judge::CaseSpec& spec, std::uint64_t seed,
                    const Options& options, Timing& timing, std::vector<Finding>& findings) {
  const auto* calibration = timing.calibration ? &*timing.calibration : nullptr;
  TimedCell cell;
  cell.dtype = to_string(spec.dtype);
  cell.axes = spec.axes;
  cell.bytes_min = race.bytes_min();

  const std::size_t candidate = race.add_candidate();
  std::vector<Opponent> opponents;
  for (std::size_t i = 0; i < race.baselines().size(); ++i) {
    const auto& entry = race.baselines()[i];
    BaselineTiming record;
    record.name = entry.name;
    record.status = entry.unavailable.empty() ? "timed" : "unavailable";
    record.reason = entry.unavailable;
    if (entry.unavailable.empty()) {
      opponents.push_back({race.add_baseline(i), cell.baselines.size()});
    }
    cell.baselines.push_back(std::move(record));
  }
  if (!race.failure()) {
    race.warm_up();
  }
  if (race.failure()) {
    return cell;
  }
  const auto before = race.gpu_state();
  std::vector<Comparison> comparisons;
  for (const auto& opponent : opponents) {
    comparisons.emplace_back(candidate, opponent.arm, race, options,
                             derive_seed(seed, sign_flip_purpose));
  }
  Recording recording(race, options);
  const auto keep = [&] { recording.keep(fmt::format("cell{}-{:016x}.json", spec.id, seed)); };
  try {
    if (!record_blocks(race, recording, comparisons, seed,
                       timing::looks_of(options.timing, options.mode))) {
      return cell;
    }
  } catch (const Error&) {
    keep();  // What shows that nothing can be measured here.
    throw;
  }
  keep();
  const bool first_only = std::ranges::any_of(comparisons, &Comparison::first_only);
  describe(race, recording, candidate, first_only, options.timing, cell);
  for (std::size_t i = 0; i < opponents.size(); ++i) {
    auto& baseline = cell.baselines[opponents[i].index];
    comparisons[i].report(recording, baseline, cell.flags, findings);
    baseline.kernels = race.kernels(opponents[i].arm);
  }
  if (calibration != nullptr) {
    add_limits(race, *calibration, cell, findings);
  }
  timing.gpu_end = race.gpu_state();
  if (before && timing.gpu_end) {
    add_slowdowns(*before, *timing.gpu_end, cell);
    timing.gpu_start = timing.gpu_start ? timing.gpu_start : before;
  }
  cell.samples_checked = race.samples_checked();
  cell.samples_total = race.samples_total();
  return cell;
}

std::map<std::string, double> geometric_means(const std::vector<TimedCell>& cells) {
  std::map<std::string, std::pair<double, int>> sums;
  for (const auto& cell : cells) {
    for (const auto& baseline : cell.baselines) {
      if (baseline.status == "timed") {
        sums[baseline.name].first += std::log(baseline.speedup.estimate);
        ++sums[baseline.name].second;
      }
    }
  }
  std::map<std::string, double> means;
  for (const auto& [name, sum] : sums) {
    means[name] = std::exp(sum.first / sum.second);
  }
  return means;
}

}  // namespace

const std::vector<AxisValues>& timed_cells(const Problem& problem, const Compiled& compiled) {
  const bool on_gpu = device::serves(compiled.candidate.language);
  return on_gpu && !problem.timed_gpu.empty() ? problem.timed_gpu : problem.timed;
}

TimingOutcome time(const Problem& problem, const Compiled& compiled, std::uint64_t seed,
                   const Options& options) {
  TimingOutcome outcome;
  const bool on_gpu = device::serves(compiled.candidate.language);
  outcome.record.clock = on_gpu ? "device_events" : "host_processor_time";
  outcome.record.mode = timing::to_string(options.mode);
  const auto dtypes = judged_dtypes(problem, compiled, options);
  const auto& cells = timed_cells(problem, compiled);
  if (dtypes.empty() || cells.empty()) {
    return outcome;
  }
  outcome.record.ran = true;
  if (on_gpu) {
    outcome.record.cache = to_string(options.cache);
    outcome.record.calibration = device::calibrated(options);
  }
  const auto is_right_beside = [&] {
    // Of plans that are only compared nobody says that they are right.
    if (compiled.candidate.language == device::plan_language) return true;
    auto odd = check_odd_cell(problem, compiled, dtypes.front(), cells, seed, options);
    outcome.oracle_s += odd.oracle_s;
    if (!odd.failure) return true;
    outcome.failure = odd.failure->status;
    outcome.findings.push_back(std::move(odd.failure->finding));
    return false;
  };
  // On the host a memory of earlier calls shows in the timed cells, and for what it is. On a GPU
  // none lasts from one call to the next.
  if (on_gpu && !is_right_beside()) return outcome;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    check_cancelled(options);
    const auto cell_seed = derive_seed(seed, i);
    const judge::CaseSpec spec{static_cast<int>(i), dtypes.front(), cells[i], "normal", cell_seed};
    require_memory(problem, {&spec, 1});
    const auto race = make_race(problem, compiled, spec, cell_seed, options);
    outcome.record.cells.push_back(
        time_cell(*race, spec, cell_seed, options, outcome.record, outcome.findings));
    outcome.oracle_s += race->oracle_s();
    if (race->failure()) {
      outcome.failure = race->failure()->status;
      outcome.findings.push_back(race->failure()->finding);
      return outcome;
    }
    if (std::any_of(outcome.findings.begin(), outcome.findings.end(),
                    [](const Finding& one) { return one.severity == "cheat"; })) {
      outcome.failure = Status::rejected;
      return outcome;
    }
  }
  if (!on_gpu && !is_right_beside()) return outcome;
  outcome.record.geomean_speedup = geometric_means(outcome.record.cells);
  return outcome;
}

}  // namespace ouroboros::referee
