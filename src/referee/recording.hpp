#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "referee/race.hpp"

namespace ouroboros::referee {

/// The blocks of one race that count. Which do not is decided without looking at the ratio.
class Recording {
 public:
  /// `race` is warmed up.
  Recording(Race& race, const Options& options);

  /// Adds blocks until `count` of them count, or until no more may be run: because a candidate
  /// misbehaved, or the budget is spent. Throws `Error{unstable}` on a machine that cannot be kept
  /// supplied with work.
  void extend_to(std::size_t count);

  /// False where too many blocks are void, and more may dilute them: a machine that did not hold
  /// still for a moment has until the budget is spent. Throws `Error{unstable}` where it is.
  [[nodiscard]] bool may_be_judged() const;

  [[nodiscard]] const std::vector<timing::Block>& blocks() const noexcept { return blocks_; }

  /// All that were run, void ones among them.
  [[nodiscard]] const std::vector<timing::Block>& all() const noexcept { return all_; }

  [[nodiscard]] const timing::BlockFilter& filter() const noexcept { return filter_; }

  /// Leaves all blocks in a file of the folder of traces, for whoever wants to look at them again;
  /// nowhere where there is no such folder. Throws `Error{io}`.
  void keep(const std::string& name) const;

  /// Whether no further block may be run.
  [[nodiscard]] bool spent() const;

 private:
  /// How many more blocks `decide` may begin, by what the last ones kept the GPU busy for.
  [[nodiscard]] std::size_t affordable() const;

  Race& race_;
  const Options& options_;
  timing::BlockFilter filter_;
  std::vector<timing::Block> blocks_;
  std::vector<timing::Block> all_;
  double gpu_ms_each_ = 0.0;  ///< Of the last blocks. 0 on the host.
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace ouroboros::referee
