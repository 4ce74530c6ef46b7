#pragma once

#include <span>
#include <vector>

#include "referee/race.hpp"
#include "referee/recording.hpp"

namespace ouroboros::referee {

/// The candidate against one baseline, look by look.
class Comparison {
 public:
  /// `race`: says at each look how the blocks were measured. `seed`: of the sign-flip test.
  Comparison(std::size_t candidate, std::size_t baseline, const Race& race, const Options& options,
             std::uint64_t seed);

  /// Takes a look at all blocks so far, unless an earlier look was the last. Returns whether it may
  /// stop.
  bool look(const Recording& recording);

  /// The baseline's arm.
  [[nodiscard]] std::size_t baseline() const noexcept { return baseline_; }

  /// Whether second meetings are no fair comparison: what is concluded rests on first ones alone.
  [[nodiscard]] bool first_only() const noexcept { return first_only_; }

  /// Writes what was found. Guards that fired are added to `flags`, remembering to `findings`.
  void report(const Recording& recording, BaselineTiming& record, std::vector<std::string>& flags,
              std::vector<Finding>& findings) const;

 private:
  [[nodiscard]] timing::Interval shifted(std::span<const timing::Block> blocks,
                                         timing::Interval log_ratio) const;

  std::size_t candidate_;
  std::size_t baseline_;
  const Race& race_;
  Race::Method method_;  ///< By the last look.
  const Options& options_;
  std::uint64_t seed_;
  std::vector<double> log_ratios_;
  bool first_only_ = false;
  timing::Look look_;
};

/// What may be concluded from: all blocks as they are or, where second meetings with a block's
/// inputs favour one of the two, their first meetings alone.
struct Fair {
  std::vector<timing::Block> blocks;
  bool first_only = false;
};
[[nodiscard]] Fair fair(std::span<const timing::Block> blocks, std::size_t candidate,
                        std::size_t baseline, const Race::Method& method);

/// exp(-x): a log-ratio of times as a speed-up.
[[nodiscard]] timing::Interval speedup(const timing::Interval& log_ratio);

}  // namespace ouroboros::referee
