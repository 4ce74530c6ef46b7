#include "referee/device/decoy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "referee/arena_tensors.hpp"

namespace ouroboros::referee::device {
namespace {

constexpr std::uint64_t decoy_purpose = 30;

/// The launches of a plan that run kernels of this origin.
std::vector<std::size_t> kernels_of(const LaunchPlan& plan, ModuleOrigin origin) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    const auto* kernel = std::get_if<KernelLaunch>(&plan.launches[i]);
    if (kernel != nullptr && plan.modules.at(kernel->module).origin == origin) {
      found.push_back(i);
    }
  }
  return found;
}

bool is_empty(const Tensors& tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const at::Tensor& one) { return one.numel() == 0; });
}

/// Whether call number `index` is right without some launches.
bool right_without(const Problem& problem, CudaSession& session, const Arena& arena,
                   std::size_t index, const judge::Case& one,
                   const std::vector<std::size_t>& launches) {
  arena.poison(index, Placement::low, derive_seed(one.spec.seed, decoy_purpose));
  const auto views = arena_tensors(arena, index, Placement::low);
  for (std::size_t i = 0; i < one.inputs.size(); ++i) {
    copy_bytes(one.inputs[i], views.inputs[i]);
  }
  const auto replayed = session.replay_without(index, Placement::low, launches);
  return replayed.outcome == Outcome::returned &&
         judge::compare(problem, one, views.outputs, judge::Arithmetic::gpu).status == "passed";
}

}  // namespace

std::optional<Finding> find_decoys(const Problem& problem, const std::vector<judge::Case>& cases,
                                   const std::vector<LaunchPlan>& plans, CudaExecutor& executor,
                                   const Options& options) {
  std::vector<Call> calls;
  std::vector<std::vector<std::size_t>> own;
  bool libraries = false;
  std::set<std::string> names;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    calls.push_back(judge::call_for(problem, cases[i]));
    own.push_back(kernels_of(plans[i], ModuleOrigin::candidate));
    libraries = libraries || !kernels_of(plans[i], ModuleOrigin::library).empty();
    for (const auto launch : own.back()) {
      names.insert(std::get<KernelLaunch>(plans[i].launches[launch]).function);
    }
  }
  if (!libraries || names.empty()) {
    return std::nullopt;
  }
  const auto arena = std::make_shared<const Arena>(std::move(calls));
  const auto session = executor.open(plans, arena);
  std::size_t compared = 0;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    check_cancelled(options);
    if (own[i].empty() || is_empty(cases[i].reference)) {
      continue;
    }
    const bool right = right_without(problem, *session, *arena, i, cases[i], own[i]);
    arena->release(i);
    if (!right) {
      return std::nullopt;
    }
    ++compared;
  }
  if (compared == 0) {
    return std::nullopt;
  }
  const bool allowed = problem.policies.library_kernels == LibraryKernels::report;
  return Finding{
      "decoy_kernel", allowed ? "note" : "cheat", "sweep",
      fmt::format("without the candidate's own kernels ({}) its plan is right as well, in "
                  "all of {} cases: library kernels do the work",
                  fmt::join(names, ", "), compared)};
}

}  // namespace ouroboros::referee::device
