#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "referee/device/device.hpp"
#include "referee/race.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee {
namespace {

constexpr double interval_alpha = 0.05;
constexpr double multimodal_bound = 0.01;
constexpr std::size_t least_blocks = 4;  // What the statistics need, whatever the budget.
constexpr std::uint64_t sign_flip_purpose = 3;
constexpr std::uint64_t probe_purpose = 4;

timing::Interval speedup(const timing::Interval& log_ratio) {
  return {std::exp(-log_ratio.estimate), std::exp(-log_ratio.high), std::exp(-log_ratio.low)};
}

/// All samples of one arm.
std::vector<double> samples(const std::vector<Race::Block>& blocks, std::size_t arm) {
  std::vector<double> values;
  for (const auto& block : blocks) {
    values.push_back(block[arm].first);
    values.push_back(block[arm].second);
  }
  return values;
}

/// One baseline in the race, and how the comparison with it stands.
struct Opponent {
  std::size_t arm = 0;
  std::size_t index = 0;  ///< In the record.
  std::vector<double> log_ratios;
  timing::Look look;
};

bool multimodal(std::vector<double> values, double trimmed) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return std::abs(*middle / trimmed - 1) > multimodal_bound;
}

TimedCell time_cell(Race& race, const judge::CaseSpec& spec, std::uint64_t seed,
                    const Options& options) {
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
      opponents.push_back({race.add_baseline(i), cell.baselines.size(), {}, {}});
    }
    cell.baselines.push_back(std::move(record));
  }
  if (race.failure()) {
    return cell;
  }
  race.warm_up();
  if (race.failure()) {
    return cell;
  }
  cell.handover_us = race.handover_us();
  cell.variant = race.variant();

  const auto start = std::chrono::steady_clock::now();
  const int most = options.timing.looks.back();
  std::vector<Race::Block> blocks;
  const auto probe_after =
      derive_seed(seed, probe_purpose) % static_cast<std::uint64_t>(options.timing.looks.front());
  bool running = true;
  while (running) {
    auto block = race.run_block();
    if (blocks.size() == probe_after) {
      race.probe();
    }
    if (race.failure()) {
      return cell;
    }
    blocks.push_back(block);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const bool spent = (seconds > options.timing.budget_seconds && blocks.size() >= least_blocks) ||
                       static_cast<int>(blocks.size()) >= most;
    // Alone, a candidate gets its own time over the blocks of the first look.
    running = opponents.empty() && static_cast<int>(blocks.size()) < options.timing.looks.front();
    for (auto& opponent : opponents) {
      const auto& [a1, a2] = block[candidate];
      const auto& [b1, b2] = block[opponent.arm];
      opponent.log_ratios.push_back(timing::block_log_ratio(a1, a2, b1, b2));
      opponent.look = timing::look(opponent.log_ratios, options.timing, options.mode, spent);
      running = running || !opponent.look.stop;
    }
    running = running && !spent;
  }

  race.probe();  // The candidate cannot know that nothing follows.
  const auto times = samples(blocks, candidate);
  cell.latency_us = timing::trimmed_interval(times, options.timing.trim, interval_alpha);
  if (multimodal(times, cell.latency_us.estimate)) {
    cell.flags.emplace_back("multimodal");
  }
  if (!race.exclusive()) {
    cell.flags.emplace_back("processor_not_leased");
  }
  for (auto& flag : race.flags()) {
    cell.flags.push_back(std::move(flag));
  }
  for (const auto& opponent : opponents) {
    auto& record = cell.baselines[opponent.index];
    record.latency_us = timing::trimmed_interval(samples(blocks, opponent.arm), options.timing.trim,
                                                 interval_alpha);
    record.speedup = speedup(opponent.look.log_ratio);
    record.decision = timing::to_string(opponent.look.decision);
    record.blocks = opponent.look.blocks;
    record.lag1_autocorrelation = opponent.look.lag1_autocorrelation;
    record.sign_flip_p =
        timing::sign_flip_p_value(opponent.log_ratios, derive_seed(seed, sign_flip_purpose));
    if (opponent.look.merged_pairs) {
      cell.flags.push_back("autocorrelated:" + record.name);
    }
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
  outcome.record.clock =
      device::serves(compiled.candidate.language) ? "device_events" : "host_processor_time";
  outcome.record.mode = timing::to_string(options.mode);
  const auto dtypes = judged_dtypes(problem, compiled, options);
  const auto& cells = timed_cells(problem, compiled);
  if (dtypes.empty() || cells.empty()) {
    return outcome;
  }
  outcome.record.ran = true;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    check_cancelled(options);
    const auto cell_seed = derive_seed(seed, i);
    const judge::CaseSpec spec{static_cast<int>(i), dtypes.front(), cells[i], "normal", cell_seed};
    require_memory(problem, spec);
    const auto race = make_race(problem, compiled, spec, cell_seed, options);
    outcome.record.cells.push_back(time_cell(*race, spec, cell_seed, options));
    outcome.oracle_s += race->oracle_s();
    if (race->failure()) {
      outcome.failure = race->failure()->status;
      outcome.findings.push_back(race->failure()->finding);
      return outcome;
    }
  }
  outcome.record.geomean_speedup = geometric_means(outcome.record.cells);
  return outcome;
}

}  // namespace ouroboros::referee
