#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "ouroboros/trace.hpp"
#include "timing_simulation.hpp"

/// Synthetic traces: machines with every effect that a guard looks for, each of a known size.
///
/// Shared by the tests (few replications) and by benchmarks/simulate_statistics.cpp (many).
namespace ouroboros_test {

/// What is true of a machine. Effects are log-ratios, 0.01 is 1 %; per arm, and 0 for arms that are
/// not listed.
struct TraceTruth {
  std::size_t arms = 2;
  Noise noise;
  std::vector<double> log_time;  ///< Of each arm, over 20 us.
  std::vector<double> memory;    ///< A second meeting reads so much slower (negative: faster).
  std::vector<double> kappa;     ///< A run right after the same arm reads so much faster.
  std::vector<double> clock;     ///< The processor's clock while the arm runs; moves its time too.
  double placement = 0.0;        ///< Sd between sets of pages, for all arms alike.
  std::size_t blocks_per_set = 1;
  double first_touch = 0.005;  ///< Whatever comes first in a block reads so much slower.
  double offset_us = 0.0;      ///< Added to every latency.
  double flush_us = 30.0;
  double clock_mhz = 1980.0;
};

class TraceMachine {
 public:
  TraceMachine(const TraceTruth& truth, std::uint64_t seed)
      : truth_(truth), order_(truth.arms, seed), random_(seed ^ 0xd1b54a32d192ed03U) {}

  timing::Block block() {
    timing::Block result;
    if (blocks_ % truth_.blocks_per_set == 0) page_ = truth_.placement * normal_(random_);
    result.set = blocks_++ / truth_.blocks_per_set;
    const double block_clock = 1.0 + 0.002 * normal_(random_);
    const std::vector<std::size_t> order = order_.next();
    for (std::size_t slot = 0; slot < order.size(); ++slot) {
      const std::size_t arm = order[slot];
      const bool second = slot >= truth_.arms;
      double log_time = noise(slot == 0 || slot + 1 == order.size()) + page_;
      if (slot == 0) log_time += truth_.first_touch;
      if (second) log_time += of(truth_.memory, arm);
      if (slot > 0 && order[slot - 1] == arm) log_time -= of(truth_.kappa, arm);
      log_time += of(truth_.log_time, arm) - of(truth_.clock, arm);
      timing::Sample sample;
      sample.arm = arm;
      sample.latency_us = 20.0 * std::exp(log_time) + truth_.offset_us;
      sample.flush_us = truth_.flush_us * (1.0 + 0.01 * normal_(random_));
      sample.clock_mhz = truth_.clock_mhz * block_clock * std::exp(of(truth_.clock, arm)) *
                         (1.0 + 0.001 * normal_(random_));
      sample.span_us = sample.flush_us + sample.latency_us + 5.0 + 10.0 * uniform_(random_);
      result.samples.push_back(sample);
    }
    return result;
  }

  std::vector<timing::Block> blocks(int count) {
    std::vector<timing::Block> result;
    for (int i = 0; i < count; ++i) result.push_back(block());
    return result;
  }

 private:
  static double of(const std::vector<double>& effects, std::size_t arm) {
    return arm < effects.size() ? effects[arm] : 0.0;
  }

  /// As Machine: a skewed body, outliers, a random walk, quick outer slots.
  double noise(bool outer) {
    const Noise& noise = truth_.noise;
    drift_ += noise.drift_per_sample * normal_(random_);
    double log_time = drift_ + noise.spread * (gamma_(random_) - 4.0) / 2.0;
    if (uniform_(random_) < noise.outlier_share) {
      log_time += noise.largest_outlier * uniform_(random_);
    }
    return outer ? log_time - noise.outer_slots : log_time;
  }

  TraceTruth truth_;
  timing::BlockOrder order_;
  std::mt19937_64 random_;
  std::size_t blocks_ = 0;
  double drift_ = 0.0;
  double page_ = 0.0;
  std::normal_distribution<double> normal_;
  std::gamma_distribution<double> gamma_{4.0, 1.0};
  std::uniform_real_distribution<double> uniform_;
};

/// How often each guard fires, as shares of runs, for arm 0 against arm 1.
struct GuardRates {
  double unstable = 0.0;
  double memory = 0.0;
  double memory_paired = 0.0;  ///< Had the paired interval alone decided.
  double carry_over = 0.0;
  double cycles = 0.0;
  double placement = 0.0;
  double multimodal = 0.0;
  double contradicted = 0.0;     ///< Of all runs; decisions are those of a single look.
  double carry_over_held = 0.0;  ///< The interval holds the true difference of kappa.
  double apart_held = 0.0;       ///< The interval holds the true difference of memory.
  double placement_held = 0.0;   ///< The interval holds the true sd.
  double placement_sd = 0.0;     ///< Median estimate.
};

inline GuardRates guard_rates(const TraceTruth& truth, int blocks, int runs, std::uint64_t seed) {
  const auto difference = [](const std::vector<double>& effects) {
    return (effects.empty() ? 0.0 : effects[0]) - (effects.size() < 2 ? 0.0 : effects[1]);
  };
  const auto holds = [](const timing::Interval& interval, double value) {
    return interval.low <= value && value <= interval.high;
  };
  timing::Plan plan;
  plan.looks = {blocks};
  GuardRates sum;
  std::vector<double> placements;
  for (int run = 0; run < runs; ++run) {
    TraceMachine machine(truth, seed + static_cast<std::uint64_t>(run) * 7919U);
    const std::vector<timing::Block> trace = machine.blocks(blocks);
    timing::BlockFilter filter;
    for (const timing::Block& block : trace) filter.admit(block);
    sum.unstable += filter.unstable() ? 1 : 0;
    const timing::MemoryTest memory = timing::memory_test(trace, 0, 1, truth.offset_us);
    sum.memory += memory.fired ? 1 : 0;
    sum.memory_paired += memory.paired.high < -0.005 ? 1 : 0;
    sum.apart_held += holds(memory.apart, difference(truth.memory)) ? 1 : 0;
    const timing::CarryOver carry = timing::carry_over(trace, 0, 1, truth.offset_us);
    sum.carry_over += carry.fired ? 1 : 0;
    sum.carry_over_held += holds(carry.difference, difference(truth.kappa)) ? 1 : 0;
    sum.cycles += timing::cycle_check(trace, 0, 1).clock_confounded ? 1 : 0;
    const timing::Placement placement = timing::placement(trace, 0, truth.offset_us);
    sum.placement += placement.fired ? 1 : 0;
    sum.placement_held += holds(placement.sd, truth.placement) ? 1 : 0;
    placements.push_back(placement.sd.estimate);
    const std::vector<double> times = timing::latencies(trace, 0, truth.offset_us);
    sum.multimodal += timing::multimodality(times, plan.trim).fired ? 1 : 0;
    const std::vector<double> ratios = timing::log_ratios(trace, 0, 1, truth.offset_us);
    const timing::Look at = timing::look(ratios, plan, timing::Mode::screen, true);
    // Nothing else can be contradicted, and the test takes its time.
    if (at.decision == timing::Decision::faster || at.decision == timing::Decision::slower) {
      sum.contradicted += timing::conclude(at, ratios, plan, seed).contradicted ? 1 : 0;
    }
  }
  for (double* rate : {&sum.unstable, &sum.memory, &sum.memory_paired, &sum.carry_over, &sum.cycles,
                       &sum.placement, &sum.multimodal, &sum.contradicted, &sum.carry_over_held,
                       &sum.apart_held, &sum.placement_held}) {
    *rate /= runs;
  }
  const auto middle = placements.begin() + static_cast<std::ptrdiff_t>(placements.size() / 2);
  std::nth_element(placements.begin(), middle, placements.end());
  sum.placement_sd = *middle;
  return sum;
}

}  // namespace ouroboros_test
