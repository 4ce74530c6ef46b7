#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/judge.hpp"
#include "judge/runs/marks.hpp"
#include "judge/shapes/growth.hpp"
#include "ouroboros/referee.hpp"

/// The stages behind `Referee`: each takes what the one before it made.
namespace ouroboros::referee {

/// The status and the finding that an outcome other than `returned` means.
struct Misconduct {
  Status status;
  Finding finding;
};
[[nodiscard]] Misconduct misconduct(const Replay& replay, const std::string& stage);

/// Cases with everything in them, and what the problem itself did wrong, if anything.
struct CasePool {
  std::vector<judge::Case> cases;
  std::optional<std::string> fault;
  std::vector<Finding> notes;  ///< What the verdict says of the problem.
  std::vector<Axis> axes;      ///< The problem's, or narrower where its reference takes fewer.
  int derived = 0;             ///< Cases that the problem has for all candidates.
  judge::Marks marks;          ///< What the reference asks its inputs for.
  judge::Growth growth;        ///< How much it makes of them.
};

[[nodiscard]] Compiled compile(const Problem& problem, const Candidate& candidate,
                               const Options& options);
[[nodiscard]] std::vector<Finding> inspect(const Compiled& compiled);
[[nodiscard]] CasePool draw_cases(const Problem& problem, const std::vector<DType>& dtypes,
                                  std::uint64_t seed, const Options& options);

/// The cases of a pool that serves many candidates, and behind them those at the whole numbers of
/// one candidate's source; all of them are held to the bit where outputs are copies.
[[nodiscard]] CasePool with_landmarks(const CasePool& pool, const Problem& problem,
                                      const Candidate& candidate, const std::vector<DType>& dtypes,
                                      std::uint64_t seed, const Options& options);

/// Opens what answers the calls of a sweep.
using Opener = std::function<std::unique_ptr<Session>(const std::vector<Call>&,
                                                      const std::shared_ptr<const Arena>&)>;

/// Runs cases, each at both ends of its pages, and judges what they leave. On a GPU sums by atomics
/// come out otherwise every time, so that two runs may differ in some bits where both are right; on
/// the host a result has no such excuse.
[[nodiscard]] SweepOutcome run_cases(const Problem& problem, const CasePool& pool,
                                     const Options& options, const Opener& open,
                                     judge::Arithmetic arithmetic);
[[nodiscard]] SweepOutcome sweep(const Problem& problem, const Compiled& compiled,
                                 const CasePool& pool, const Options& options);
[[nodiscard]] TimingOutcome time(const Problem& problem, const Compiled& compiled,
                                 std::uint64_t seed, const Options& options);
[[nodiscard]] GateOutcome gate(const Problem& problem, const Compiled& compiled, std::uint64_t seed,
                               const Options& options);

/// The dtypes to judge: those asked for, or those of the problem that the candidate exports.
[[nodiscard]] std::vector<DType> judged_dtypes(const Problem& problem, const Compiled& compiled,
                                               const Options& options);

/// The cells to time for a candidate in its language.
[[nodiscard]] const std::vector<AxisValues>& timed_cells(const Problem& problem,
                                                         const Compiled& compiled);

/// The finding of a candidate that `judged_dtypes` leaves nothing of.
[[nodiscard]] Finding missing_dtypes();

/// Whether a source is longer than what is read at all.
[[nodiscard]] bool is_too_long(const Candidate& candidate, const Limits& limits);

/// Throws `Error{invalid_argument}` that names the first option that can never work.
void check(const Options& options);

/// Throws `Error{out_of_memory}` when realising cases, and keeping them, would take more memory
/// than the machine has left: the kernel's own answer to that may be to end this process.
void require_memory(const Problem& problem, std::span<const judge::CaseSpec> specs,
                    const judge::Growth& growth = {});

/// A seed that nobody can know: from the system.
[[nodiscard]] std::uint64_t secret_seed();

/// A seed for purpose number `purpose`, from which `seed` cannot be told.
[[nodiscard]] std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t purpose);

/// Throws `Error{cancelled}` when the caller wants to stop.
void check_cancelled(const Options& options);

/// Machine, versions and date.
[[nodiscard]] Provenance provenance();

/// One sentence for a finished verdict.
[[nodiscard]] std::string summary(const Verdict& verdict);

}  // namespace ouroboros::referee
