#include "referee/device/out_of_step.hpp"

#include <fmt/format.h>

#include <map>

#include "judge/runs/run.hpp"
#include "referee/arena_tensors.hpp"

namespace ouroboros::referee::device {
namespace {

constexpr std::uint64_t race_purpose = 31;

/// The plans on staggered images, where there are some. How many images have been replaced.
std::size_t stagger(std::vector<LaunchPlan>& plans, PlanSource& source) {
  std::map<std::string, std::optional<PlanImage>> known;
  std::size_t replaced = 0;
  for (auto& plan : plans) {
    for (auto& image : plan.images) {
      auto [found, is_new] = known.try_emplace(image.sha256);
      if (is_new) found->second = source.staggered(image);
      if (found->second) {
        image = *found->second;
        ++replaced;
      }
    }
  }
  return replaced;
}

}  // namespace

std::optional<Finding> find_race(const Problem& problem, const std::vector<judge::Case>& cases,
                                 const std::vector<LaunchPlan>& plans, PlanSource& source,
                                 CudaExecutor& executor, const Options& options) {
  auto others = plans;
  if (stagger(others, source) == 0) {
    return std::nullopt;
  }
  std::vector<Call> calls;
  for (const auto& one : cases) calls.push_back(judge::call_for(problem, one));
  const auto arena = std::make_shared<const Arena>(std::move(calls));
  const auto session = executor.open(std::move(others), arena);
  if (session->opening().outcome != Outcome::returned) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    check_cancelled(options);
    const auto& one = cases[i];
    arena->poison(i, Placement::low, derive_seed(one.spec.seed, race_purpose));
    const auto views = arena_tensors(*arena, i, Placement::low);
    for (std::size_t k = 0; k < one.inputs.size(); ++k) {
      copy_bytes(one.inputs[k], views.inputs[k]);
    }
    const auto replay = session->replay(i, Placement::low);
    if (replay.outcome != Outcome::returned) {
      // The sleeps may have taken too long, or too many registers for a block of this size.
      return std::nullopt;
    }
    const auto result = judge::compare(problem, one, views.outputs, judge::Arithmetic::gpu);
    if (result.status != "passed") {
      return Finding{"race", "error", "sweep",
                     fmt::format("right, but not where some warps sleep for microseconds after a "
                                 "barrier or where the kernel begins: {}{}",
                                 result.message, judge::in_case(one.spec))};
    }
    arena->release(i);
  }
  return std::nullopt;
}

}  // namespace ouroboros::referee::device
