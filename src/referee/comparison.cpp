#include "referee/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ouroboros::referee {
namespace {

constexpr double interval_alpha = 0.05;

/// A memo that pays saves more than this. What caches and translations leave is less.
constexpr double memo_pays = 0.05;

double percent(double log_ratio) { return 100 * std::expm1(log_ratio); }

}  // namespace

timing::Interval speedup(const timing::Interval& log_ratio) {
  return {std::exp(-log_ratio.estimate), std::exp(-log_ratio.high), std::exp(-log_ratio.low)};
}

Fair fair(std::span<const timing::Block> blocks, std::size_t candidate, std::size_t baseline,
          const Race::Method& method) {
  const bool uneven =
      method.same_inputs &&
      timing::memory_test(blocks, candidate, baseline, method.offset_us.estimate).uneven;
  return {uneven ? timing::first_meetings(blocks) : std::vector(blocks.begin(), blocks.end()),
          uneven};
}

Comparison::Comparison(std::size_t candidate, std::size_t baseline, const Race& race,
                       const Options& options, std::uint64_t seed)
    : candidate_(candidate), baseline_(baseline), race_(race), options_(options), seed_(seed) {}

bool Comparison::look(const Recording& recording) {
  if (look_.stop) {
    return true;
  }
  method_ = race_.method();
  const auto [blocks, first_only] = fair(recording.blocks(), candidate_, baseline_, method_);
  first_only_ = first_only;
  log_ratios_ = timing::log_ratios(blocks, candidate_, baseline_, method_.offset_us.estimate);
  look_ = timing::look(log_ratios_, options_.timing, options_.mode, recording.spent(),
                       timing::codes(blocks));
  return look_.stop;
}

timing::Interval Comparison::shifted(std::span<const timing::Block> blocks,
                                     timing::Interval log_ratio) const {
  if (method_.offset_us.low == method_.offset_us.high) {
    return log_ratio;
  }
  const auto mean = [&](double offset_us) {
    const auto logs = timing::log_ratios(blocks, candidate_, baseline_, offset_us);
    return timing::trimmed_mean(logs, options_.timing.trim).mean;
  };
  const double centre = mean(method_.offset_us.estimate);
  const double a = mean(method_.offset_us.low) - centre;
  const double b = mean(method_.offset_us.high) - centre;
  log_ratio.low += std::min({a, b, 0.0});
  log_ratio.high += std::max({a, b, 0.0});
  return log_ratio;
}

void Comparison::report(const Recording& recording, BaselineTiming& record,
                        std::vector<std::string>& flags, std::vector<Finding>& findings) const {
  const auto& plan = options_.timing;
  // Others may have needed more blocks; what is said of this one rests on those that it looked at.
  const auto all = std::span(recording.blocks()).first(log_ratios_.size());
  const auto blocks = fair(all, candidate_, baseline_, method_).blocks;
  const double offset = method_.offset_us.estimate;
  record.blocks = look_.blocks;
  record.block_log_ratios = log_ratios_;
  record.lag1_autocorrelation = look_.lag1_autocorrelation;
  const auto flag = [&](bool fired, const char* name) {
    if (fired) flags.push_back(fmt::format("{}:{}", name, record.name));
  };
  flag(look_.merged_pairs, "autocorrelated");
  flag(first_only_, "first_meetings");
  const auto conclusion = timing::conclude(look_, log_ratios_, plan, seed_);
  record.decision = timing::to_string(conclusion.decision);
  record.sign_flip_p = conclusion.sign_flip_p;
  flag(conclusion.contradicted, "contradicted");
  record.latency_us = timing::latency(blocks, baseline_, offset, plan.trim, interval_alpha);
  record.speedup = speedup(shifted(blocks, look_.log_ratio));
  const auto raw = timing::log_ratios(blocks, candidate_, baseline_, 0.0);
  record.speedup_raw = speedup(timing::trimmed_interval(
      raw, plan.trim,
      plan.alpha / static_cast<double>(timing::looks_of(plan, options_.mode).size()),
      timing::codes(blocks)));
  flag(timing::carry_over(all, candidate_, baseline_, offset).fired, "carryover");
  flag(timing::cycle_check(blocks, candidate_, baseline_).clock_confounded, "clock_confounded");
  if (!method_.same_inputs) {
    return;
  }
  const auto memory = timing::memory_test(all, candidate_, baseline_, offset);
  record.memory = memory.paired;
  if (memory.fired) {
    flag(true, "memory");
    const bool pays = memory.paired.high < -memo_pays && memory.apart.high < -memo_pays;
    findings.push_back(
        {"remembers_inputs", pays ? "cheat" : "note", "time",
         fmt::format("meets the same inputs a second time {:.2f} % faster than the first, beyond "
                     "what '{}' gains (99 % interval {:.2f} to {:.2f} %)",
                     -percent(memory.paired.estimate), record.name, -percent(memory.paired.high),
                     -percent(memory.paired.low))});
  }
}

}  // namespace ouroboros::referee
