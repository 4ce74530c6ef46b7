#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ouroboros/launch_plan.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee {

/// One call that a plan is wanted for.
struct PlanRequest {
  DType dtype = DType::float32;
  AxisValues axes;
  std::vector<Buffer> buffers;  ///< Inputs, then outputs.
  bool timed = false;           ///< What chooses the fastest for it must not be disturbed.
};

/// The plans for one call, or what the candidate did wrong.
struct Planned {
  std::vector<LaunchPlan> variants;  ///< One for each autotune configuration; at least one.
  std::optional<Misconduct> fault;
  /// What each variant's kernels were compiled from, in its tracer's words; empty where it is not
  /// said.
  std::vector<std::vector<std::byte>> sources = {};
};

/// Where a GPU candidate's launch plans come from. Thread-safe; asking again for the same call is
/// cheap.
class PlanSource {
 public:
  virtual ~PlanSource() = default;

  /// The plans for calls, in order, as the candidate made them: not audited.
  [[nodiscard]] virtual std::vector<Planned> plans(const std::vector<PlanRequest>& requests) = 0;

  /// The same program as an image of a plan that came from here, in which warps get out of step
  /// (compile/cuda/stagger.hpp). Nothing where there is no such program.
  [[nodiscard]] virtual std::optional<PlanImage> staggered(const PlanImage&) {
    return std::nullopt;
  }

  /// What is known of compiling so far: compiler, log, time.
  [[nodiscard]] virtual Compilation record() const = 0;

  /// How host code was followed so far: "dry", "live" if any of it was; empty where there is none.
  [[nodiscard]] virtual std::string trace() const { return ""; }

  /// What confined host code that was traced live; empty where none was.
  [[nodiscard]] virtual std::optional<Isolation> live_isolation() const { return std::nullopt; }
};

namespace device {

/// Plans from tracing host code: "triton" and "python".
[[nodiscard]] std::shared_ptr<PlanSource> traced_plans(const Problem& problem,
                                                       const Candidate& candidate,
                                                       const std::string& target,
                                                       const Options& options);

/// Plans from a launch specification: "cuda" and "ptx".
[[nodiscard]] std::shared_ptr<PlanSource> specified_plans(const Problem& problem,
                                                          const Candidate& candidate,
                                                          const std::string& target,
                                                          const Options& options);

/// What a plan for these buffers has to look like: contiguous tensors.
[[nodiscard]] std::vector<PlanBuffer> signature_of(const std::vector<Buffer>& buffers);

/// Plans that passed the audit: `source.plans`, and the fault of each that did not.
[[nodiscard]] std::vector<Planned> audited_plans(PlanSource& source, const Problem& problem,
                                                 const std::vector<PlanRequest>& requests);

/// The most autotune configurations that are judged.
inline constexpr std::size_t max_variants = 16;

}  // namespace device
}  // namespace ouroboros::referee
