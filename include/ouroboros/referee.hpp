#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ouroboros/api.hpp"
#include "ouroboros/candidate.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/executor.hpp"
#include "ouroboros/options.hpp"
#include "ouroboros/problem.hpp"
#include "ouroboros/verdict.hpp"

namespace ouroboros {

namespace referee {
class PlanSource;
}

/// A candidate that was compiled, or the reason why it was not.
struct Compiled {
  Candidate candidate;
  Compilation record;
  ModuleImage image;  ///< Of a host candidate; empty when compilation failed.
  std::shared_ptr<referee::PlanSource> plans;  ///< Of a GPU candidate; null when there are none.
  std::string trace;  ///< How its host code was followed: "dry" or "live"; empty: it has none.
  std::optional<Status> failure;  ///< What settles the verdict already, e.g. compile_error.
  std::vector<Finding> findings;
};

/// Outcome of one stage: what it measured, and the status that it imposes, if any.
struct SweepOutcome {
  Correctness record;
  double replay_s = 0.0;   ///< Of the stage's wall time: replays and what is around each.
  double kernels_s = 0.0;  ///< Of the candidate's own code, on the executor's clock.
  std::optional<Status> failure;
  std::vector<Finding> findings;
  Isolation isolation;
  std::map<std::string, double> device_time_share;  ///< Of a GPU candidate's kernels, by name.
};
struct TimingOutcome {
  Timing record;
  double oracle_s = 0.0;  ///< Of the stage's wall time: reference, oracle and tolerances.
  std::optional<Status> failure;
  std::vector<Finding> findings;
};
struct GateOutcome {
  GateResult record;
  std::optional<Status> failure;
  std::vector<Finding> findings;
};

/// Cases of one problem for a group of candidates: secret inputs, and what is true of them, are
/// made once for all; only the few at the whole numbers of a candidate's source are its own.
/// Whoever writes candidates must not learn a verdict of the group, which holds the seed, before
/// the last of the group is judged; then the cases are retired.
class OUROBOROS_API SharedCases {
 public:
  ~SharedCases();
  SharedCases(const SharedCases&) = delete;
  SharedCases& operator=(const SharedCases&) = delete;

  class Pool;

 private:
  friend class Referee;
  explicit SharedCases(std::unique_ptr<Pool> pool);
  std::unique_ptr<Pool> pool_;
};

/// One side of a comparison: a candidate, or launch plans that somebody else made, one for each
/// timed call.
struct Contender {
  std::string name;
  std::variant<Candidate, std::function<LaunchPlan(const std::vector<PlanBuffer>& signature)>> what;
};

/// Decides whether a candidate computes what a problem's reference computes, and how fast.
///
///     ouroboros::Referee referee;
///     auto verdict = referee.judge(ouroboros::problems::get("softmax"),
///                                  ouroboros::Candidate::from_file("softmax.cpp"));
///
/// Thread-safe: one referee may judge from many threads at once; timed stretches queue.
class OUROBOROS_API Referee {
 public:
  explicit Referee(Options options = {});
  ~Referee();
  Referee(Referee&&) noexcept;
  Referee& operator=(Referee&&) noexcept;

  /// Runs every stage up to `Options::until` and stops at the first that fails. Faults of the
  /// candidate, of the problem and of the infrastructure are in the verdict; only misuse and
  /// cancellation throw.
  [[nodiscard]] Verdict judge(const Problem& problem, const Candidate& candidate) const;

  /// Cases for a group of candidates. They are drawn when the first of them needs them.
  [[nodiscard]] std::unique_ptr<SharedCases> share_cases(const Problem& problem) const;

  /// As above, on the cases of a group. Throws `Error{invalid_argument}` when they are of another
  /// problem.
  [[nodiscard]] Verdict judge(const Problem& problem, const Candidate& candidate,
                              const SharedCases& cases) const;

  /// Times `a` against `b` alone, on the problem's cells. A candidate `a` is judged first, as by
  /// `judge`, and what does not pass is not timed; what `b` computes is compared with the reference
  /// once. In the verdict `b` is the only baseline. Throws `Error{invalid_argument}` where `b`
  /// cannot be compiled, `Error{unsupported}` where one is host code and the other is not.
  [[nodiscard]] Verdict compare(const Problem& problem, const Contender& a,
                                const Contender& b) const;

  /// What the clock of the GPU that the options name can and cannot resolve. Measured once for each
  /// boot of the machine, unless `fresh` is set. Throws `Error{unsupported}` where there is no GPU.
  [[nodiscard]] Calibration calibrate(bool fresh = false) const;

  /// Judges the problem itself: its reference runs, is deterministic, and rejects null candidates.
  /// Empty when the problem is sound, otherwise one sentence.
  [[nodiscard]] std::optional<std::string> validate(const Problem& problem) const;

  /// The stages of `judge`, one by one.
  [[nodiscard]] Compiled compile(const Problem& problem, const Candidate& candidate) const;
  [[nodiscard]] std::vector<Finding> inspect(const Compiled& compiled) const;
  [[nodiscard]] SweepOutcome sweep(const Problem& problem, const Compiled& compiled) const;
  [[nodiscard]] TimingOutcome time(const Problem& problem, const Compiled& compiled) const;
  [[nodiscard]] GateOutcome gate(const Problem& problem, const Compiled& compiled) const;

  [[nodiscard]] const Options& options() const noexcept;

 private:
  class Impl;
  Verdict judge_on(const Problem& problem, const Candidate& candidate,
                   const SharedCases::Pool* shared) const;
  Verdict record(const Problem& problem, const Candidate& candidate, std::uint64_t seed,
                 const std::function<void(Verdict&)>& work) const;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ouroboros
