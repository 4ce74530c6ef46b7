#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "judge/judge.hpp"
#include "ouroboros/referee.hpp"
#include "referee/baselines.hpp"
#include "referee/processor_lease.hpp"

namespace ouroboros::referee {

/// One timed cell on one set of physical pages: the arms, and blocks of samples.
///
/// A block visits every arm twice, in a random order and then in its mirror image. Each half has
/// fresh inputs that no arm has met, so that remembering earlier ones is worth nothing; within a
/// half all arms see the same inputs. Outputs are poisoned before every sample, and what a
/// candidate leaves there is compared with eager mode's result each time and with the oracle in
/// samples that are drawn by lot.
class Race {
 public:
  Race(const Problem& problem, const Compiled& compiled, const judge::CaseSpec& cell,
       std::uint64_t seed, const Options& options);

  /// Adds an arm: a fresh sealed process of the candidate. Returns its number.
  std::size_t add_candidate();

  /// Adds an arm: a baseline by its number in `baselines()`. Returns its number.
  std::size_t add_baseline(std::size_t index);

  [[nodiscard]] Baselines& baselines() noexcept { return *baselines_; }

  /// Both samples of each arm in one block, in microseconds: by arm, then by half.
  using Block = std::vector<std::pair<double, double>>;

  /// Takes a processor for all arms and runs warm-up samples; call once, after the arms were added.
  void warm_up();

  /// Runs every candidate once on inputs that mix all value families, at the timed shape and
  /// addresses, and checks the result in full. Not a sample. Its place among the blocks is the
  /// caller's secret.
  void probe();

  /// Runs one block. Afterwards `failure()` may say that a candidate misbehaved.
  Block run_block();

  struct Failure {
    Status status;
    Finding finding;
  };
  [[nodiscard]] const std::optional<Failure>& failure() const noexcept { return failure_; }

  [[nodiscard]] double handover_us();
  [[nodiscard]] std::int64_t bytes_min() const noexcept { return bytes_min_; }
  [[nodiscard]] std::int64_t samples_checked() const noexcept { return samples_checked_; }
  [[nodiscard]] std::int64_t samples_total() const noexcept { return samples_total_; }
  /// Wall time that went into references, oracles and tolerances.
  [[nodiscard]] double oracle_s() const noexcept { return oracle_s_; }
  [[nodiscard]] bool exclusive() const noexcept { return lease_ && lease_->exclusive(); }

 private:
  struct Arm {
    std::unique_ptr<Session> session;  ///< Of a candidate; empty for a baseline.
    std::size_t baseline = 0;
    Tensors result;  ///< What the arm left in the outputs last.
  };

  /// Fresh inputs, then one sample of each arm in `order`.
  void run_half(const std::vector<std::size_t>& order, bool check_fully,
                const std::function<void(std::size_t, double)>& sampled);
  /// Runs `draw`, which makes a case, on the account of `oracle_s`.
  judge::Case draw_case(const std::function<judge::Case()>& draw);
  void check_against_eager(const Tensors& outputs);
  void check_against_oracle(const judge::Case& one, const Tensors& outputs);
  void fail(Status status, Finding finding);

  const Problem& problem_;
  const Compiled& compiled_;
  const Options& options_;
  double oracle_s_ = 0.0;  // Before the model, whose making counts.
  judge::Case model_;
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  std::uint64_t probes_ = 0;
  std::vector<Call> calls_;
  std::shared_ptr<const Arena> arena_;
  Tensors inputs_;
  Tensors outputs_;
  std::vector<double> gross_error_;  ///< Of each output: no honest result is this far from eager's.
  std::unique_ptr<Baselines> baselines_;
  std::vector<Arm> arms_;
  std::unique_ptr<timing::BlockOrder> order_;
  std::optional<ProcessorLease> lease_;  ///< From warm-up on: preparing baselines may take long.
  std::optional<Failure> failure_;
  std::int64_t bytes_min_ = 0;
  std::int64_t samples_checked_ = 0;
  std::int64_t samples_total_ = 0;
};

}  // namespace ouroboros::referee
