#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "ouroboros/timing.hpp"

/// Synthetic machines for the statistics of timing: what is true is known, so errors can be
/// counted.
///
/// Shared by the tests (few replications) and by benchmarks/simulate_statistics.cpp (many).
namespace ouroboros_test {

namespace timing = ouroboros::timing;

/// How the time of one sample strays from the truth. All in log units, so 0.01 is 1 %.
struct Noise {
  double spread = 0.01;              ///< Sd of the skewed body of a sample.
  double outlier_share = 0.03;       ///< So many samples are slowed down further,
  double largest_outlier = 0.10;     ///< by something uniform between 0 and this.
  double drift_per_sample = 0.0005;  ///< Sd of one step of the machine's random walk.
  double outer_slots = 0.002;  ///< The first and the last slot of a block read so much faster.
};

/// A machine that runs blocks of a candidate (arm 0) and a baseline (arm 1).
class Machine {
 public:
  Machine(const Noise& noise, double true_log_ratio, std::uint64_t seed)
      : noise_(noise),
        truth_(true_log_ratio),
        order_(2, seed),
        random_(seed ^ 0x9e3779b97f4a7c15U) {}

  /// The log-ratio of one more block.
  double block() {
    std::array<std::array<double, 2>, 2> samples{};
    std::array<int, 2> taken{};
    const std::vector<std::size_t> slots = order_.next();
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      const std::size_t arm = slots[slot];
      samples[arm][taken[arm]++] = sample(arm, slot == 0 || slot + 1 == slots.size());
    }
    return timing::block_log_ratio(samples[0][0], samples[0][1], samples[1][0], samples[1][1]);
  }

  std::vector<double> blocks(int count) {
    std::vector<double> result;
    result.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) result.push_back(block());
    return result;
  }

 private:
  double sample(std::size_t arm, bool outer) {
    drift_ += noise_.drift_per_sample * normal_(random_);
    // A gamma variable of shape 4 has mean 4, sd 2 and skewness 1: a long tail of slow samples.
    double log_time = drift_ + noise_.spread * (gamma_(random_) - 4.0) / 2.0;
    if (uniform_(random_) < noise_.outlier_share) {
      log_time += noise_.largest_outlier * uniform_(random_);
    }
    if (outer) log_time -= noise_.outer_slots;
    if (arm == 0) log_time += truth_;
    return std::exp(log_time);
  }

  Noise noise_;
  double truth_;
  timing::BlockOrder order_;
  std::mt19937_64 random_;
  double drift_ = 0.0;
  std::normal_distribution<double> normal_;
  std::gamma_distribution<double> gamma_{4.0, 1.0};
  std::uniform_real_distribution<double> uniform_;
};

/// Runs a machine block by block until the plan says stop, as a caller with a clock does.
inline timing::Look run_until_stop(Machine& machine, const timing::Plan& plan, timing::Mode mode) {
  std::vector<double> ratios;
  for (;;) {
    ratios.push_back(machine.block());
    const timing::Look at = timing::look(ratios, plan, mode, false);
    if (at.stop) return at;
  }
}

/// What many runs of the same comparison gave.
struct Tally {
  int runs = 0;
  int faster = 0;
  int slower = 0;
  int same = 0;
  int ambiguous = 0;
  int covered = 0;  ///< The last interval holds the truth.
  int merged = 0;
  double blocks = 0.0;        ///< Sum of the blocks that were spent.
  double error = 0.0;         ///< Sum of estimate - truth.
  double effect_error = 0.0;  ///< The same over runs that ended `faster` only.

  void add(const timing::Look& at, double truth) {
    ++runs;
    blocks += at.blocks;
    error += at.log_ratio.estimate - truth;
    if (at.decision == timing::Decision::faster) {
      ++faster;
      effect_error += at.log_ratio.estimate - truth;
    }
    slower += at.decision == timing::Decision::slower ? 1 : 0;
    same += at.decision == timing::Decision::same ? 1 : 0;
    ambiguous += at.decision == timing::Decision::ambiguous ? 1 : 0;
    merged += at.merged_pairs ? 1 : 0;
    covered += at.log_ratio.low <= truth && truth <= at.log_ratio.high ? 1 : 0;
  }

  [[nodiscard]] double share(int count) const { return static_cast<double>(count) / runs; }
};

inline Tally simulate(const Noise& noise, double truth, const timing::Plan& plan, timing::Mode mode,
                      int runs, std::uint64_t seed) {
  Tally tally;
  for (int run = 0; run < runs; ++run) {
    Machine machine(noise, truth, seed + static_cast<std::uint64_t>(run) * 7919U);
    tally.add(run_until_stop(machine, plan, mode), truth);
  }
  return tally;
}

/// Share of runs in which some look's 95 % interval, uncorrected, excludes a true ratio of 1.
inline double naive_false_decisions(const Noise& noise, const timing::Plan& plan, int runs,
                                    std::uint64_t seed) {
  int decided = 0;
  for (int run = 0; run < runs; ++run) {
    Machine machine(noise, 0.0, seed + static_cast<std::uint64_t>(run) * 7919U);
    const auto looks = timing::looks_of(plan, timing::Mode::decide);
    const std::vector<double> ratios = machine.blocks(looks.back());
    for (const int count : looks) {
      const timing::Interval interval = timing::trimmed_interval(
          std::span(ratios).first(static_cast<std::size_t>(count)), plan.trim, 0.05);
      if (interval.low > 0.0 || interval.high < 0.0) {
        ++decided;
        break;
      }
    }
  }
  return static_cast<double>(decided) / runs;
}

/// Share of 95 % intervals, each from `blocks` blocks and one look, that hold the truth.
inline double fixed_coverage(const Noise& noise, double truth, int blocks, int runs,
                             std::uint64_t seed) {
  int covered = 0;
  for (int run = 0; run < runs; ++run) {
    Machine machine(noise, truth, seed + static_cast<std::uint64_t>(run) * 7919U);
    const timing::Interval interval = timing::trimmed_interval(machine.blocks(blocks), 0.10, 0.05);
    covered += interval.low <= truth && truth <= interval.high ? 1 : 0;
  }
  return static_cast<double>(covered) / runs;
}

/// Coverage of a 95 % interval over autocorrelated blocks (first order, `rho`), plain and as
/// `look` treats them.
struct AutocorrelatedCoverage {
  double plain = 0.0;
  double treated = 0.0;
};

inline AutocorrelatedCoverage autocorrelated_coverage(double rho, int blocks, int runs,
                                                      std::uint64_t seed) {
  timing::Plan plan;
  plan.looks = {blocks};
  plan.alpha = 0.05;
  int plain = 0;
  int treated = 0;
  std::normal_distribution<double> normal;
  for (int run = 0; run < runs; ++run) {
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(run) * 7919U);
    std::vector<double> ratios;
    double state = normal(random);
    for (int i = 0; i < blocks; ++i) {
      ratios.push_back(0.01 * state);
      state = rho * state + std::sqrt(1.0 - rho * rho) * normal(random);
    }
    const timing::Interval interval = timing::trimmed_interval(ratios, plan.trim, plan.alpha);
    plain += interval.low <= 0.0 && 0.0 <= interval.high ? 1 : 0;
    const timing::Interval at = timing::look(ratios, plan, timing::Mode::report, true).log_ratio;
    treated += at.low <= 0.0 && 0.0 <= at.high ? 1 : 0;
  }
  return {static_cast<double>(plain) / runs, static_cast<double>(treated) / runs};
}

/// Coverage of a 95 % interval over blocks in which two arms take turns with 16 copies of their
/// code each, in 16 pairs: taken for independent, and in groups.
struct CopiesCoverage {
  double plain = 0.0;
  double grouped = 0.0;
};

/// `copy_sd`: of what a copy adds to a log time. A block's own log-ratio has an sd of 2 %.
inline CopiesCoverage copies_coverage(double copy_sd, int blocks, int runs, std::uint64_t seed) {
  constexpr std::size_t copies = 16;
  int plain = 0;
  int grouped = 0;
  std::normal_distribution<double> normal;
  for (int run = 0; run < runs; ++run) {
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(run) * 7919U);
    std::array<std::array<double, copies>, 2> added{};
    for (auto& arm : added) {
      for (double& one : arm) one = copy_sd * normal(random);
    }
    std::vector<double> ratios;
    std::vector<std::size_t> codes;
    for (int i = 0; i < blocks; ++i) {
      const std::size_t round = static_cast<std::size_t>(i);
      codes.push_back(round % copies);
      ratios.push_back(added[0][round % copies] - added[1][3 * round % copies] +
                       0.02 * normal(random));
    }
    const auto holds = [](const timing::Interval& one) {
      return one.low <= 0.0 && 0.0 <= one.high;
    };
    plain += holds(timing::trimmed_interval(ratios, 0.10, 0.05)) ? 1 : 0;
    grouped += holds(timing::trimmed_interval(ratios, 0.10, 0.05, codes)) ? 1 : 0;
  }
  return {static_cast<double>(plain) / runs, static_cast<double>(grouped) / runs};
}

/// How processes differ: `between` is the sd over processes, `within` the standard error in one.
struct Processes {
  int count = 5;
  double between = 0.005;
  double within = 0.0015;
  double aa = 0.0;  ///< Sd of the A/A log-ratio of a process.
};

struct GatePassRates {
  double passed = 0.0;
  double passed_without_spread_clause = 0.0;  ///< Had processes been allowed to differ at will.
};

inline GatePassRates gate_pass_rates(const Processes& processes, double true_log_ratio, int runs,
                                     std::uint64_t seed) {
  timing::GateRule rule;
  rule.runs = processes.count;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  int passed = 0;
  int without_spread_clause = 0;
  for (int run = 0; run < runs; ++run) {
    std::vector<timing::GateRun> measured;
    for (int i = 0; i < processes.count; ++i) {
      timing::GateRun one;
      one.log_ratio =
          true_log_ratio + processes.between * normal(random) + processes.within * normal(random);
      one.standard_error = processes.within;
      one.log_ratio_aa = processes.aa * normal(random);
      measured.push_back(one);
    }
    const timing::Gate gate = timing::gate(measured, rule);
    passed += gate.passed ? 1 : 0;
    const bool only_spread =
        gate.reasons.size() == 1 && gate.reasons.front().find("spread over") != std::string::npos;
    without_spread_clause += gate.passed || only_spread ? 1 : 0;
  }
  return {static_cast<double>(passed) / runs, static_cast<double>(without_spread_clause) / runs};
}

}  // namespace ouroboros_test
