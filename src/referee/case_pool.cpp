#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "judge/base/tensors.hpp"
#include "judge/runs/marks.hpp"
#include "judge/runs/run.hpp"
#include "judge/shapes/affordable.hpp"
#include "judge/shapes/domain.hpp"
#include "judge/shapes/extents.hpp"
#include "judge/shapes/growth.hpp"
#include "judge/shapes/landmarks.hpp"
#include "judge/values/families.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee {
namespace {

/// Whether a case is of a cell that candidates are timed in.
bool is_timed(const Problem& problem, const CasePool& pool, const judge::CaseSpec& spec) {
  return spec.family == "normal" && std::ranges::any_of(problem.timed, [&](const AxisValues& cell) {
           const auto inputs_fit = judge::shortened(problem, cell, judge::most_timed_elements);
           return pool.growth.within(problem, inputs_fit) == spec.axes;
         });
}

/// Cases that the reference raised in, and what it said first.
struct Beyond {
  std::size_t count = 0;
  bool timed = false;  ///< One of them is a timed cell's.
  std::string said;
};

/// Extents that nobody asked for may be beyond what a reference is meant for: fewer elements than
/// its window has, or a number that its groups do not divide. What it gives no answer to, no
/// candidate is asked.
Beyond realise_all(CasePool& pool, const Problem& problem,
                   const std::vector<judge::CaseSpec>& specs, const Options& options) {
  Beyond beyond;
  require_memory(problem, specs, pool.growth);
  for (const auto& spec : specs) {
    check_cancelled(options);
    try {
      pool.cases.push_back(judge::realise(problem, spec));
    } catch (const judge::ReferenceRaised& fault) {
      beyond.timed |= is_timed(problem, pool, spec);
      if (beyond.count++ == 0) beyond.said = fault.what();
    }
  }
  return beyond;
}

/// `within`: what was learnt of the extents that it takes.
Finding raised(const Beyond& beyond, const std::string& within, std::size_t drawn) {
  std::string left;
  if (!within.empty()) left = fmt::format("the sweep keeps to shapes where {}", within);
  if (beyond.count > 0) {
    left += fmt::format("{}{} of {} cases are left out", left.empty() ? "" : " and ", beyond.count,
                        drawn);
  }
  return {"reference_raised", "note", "sweep",
          fmt::format("{}, since {}. Declare which extents the axes take (minimum, multiple_of), "
                      "or, where numbers are the cause, what inputs have (values)",
                      left, beyond.said)};
}

/// Whether a reference leaves the range of its dtype in most elements of a case.
bool is_lost(const judge::Case& one) {
  std::int64_t elements = 0;
  for (const auto& made : one.reference) {
    elements += made.is_floating_point() ? made.numel() : 0;
  }
  return 2 * one.lost > elements;
}

/// A reference that gives infinity or NaN for ordinary numbers: in a timed cell, or in most cases.
std::optional<std::string> unstable(const Problem& problem, const CasePool& pool, DType dtype) {
  std::vector<const judge::Case*> ordinary;
  for (const auto& one : pool.cases) {
    if (one.spec.dtype == dtype && one.spec.family == "normal") ordinary.push_back(&one);
  }
  const auto lost =
      std::ranges::partition(ordinary, [](const judge::Case* one) { return !is_lost(*one); });
  const bool timed = std::ranges::any_of(
      lost, [&](const auto* one) { return is_timed(problem, pool, one->spec); });
  if (!timed && 2 * lost.size() <= ordinary.size()) return std::nullopt;
  return "the reference gives infinity or NaN where the true value is finite: leave this dtype out "
         "of the problem or make the reference stable" +
         judge::in_case(lost.front()->spec);
}

Finding fewer(std::size_t drawn, int derived) {
  return {
      "few_cases", "note", "sweep",
      fmt::format("{} of {} cases are drawn, as the seed chose them: they are so large that all "
                  "would take minutes and tens of GiB. Declare axes where extents may be others",
                  drawn, derived)};
}

std::optional<std::string> fault_of(const Problem& problem, const CasePool& pool,
                                    const std::vector<DType>& dtypes) {
  for (const auto dtype : dtypes) {
    if (auto fault = unstable(problem, pool, dtype)) return fault;
  }
  return judge::validate(problem, pool.cases);
}

/// Where each index has to be another one, there are no more than may be told apart.
AxisValues told_apart(const Problem& problem, const judge::Marks& marks, AxisValues axes) {
  for (const auto input : marks.distinct) {
    const auto& one = problem.inputs[input];
    if (one.shape.size() != 1 || one.shape.front().axis == one.index_axis) continue;
    const auto& [scale, name] = one.shape.front();
    const auto axis = std::ranges::find(problem.axes, name, &Axis::name);
    if (axis == problem.axes.end() || axis->fixed) continue;
    const auto most = judge::value_of(one.index_axis, problem, axes) / scale;
    if (axes.at(name) > most) axes[name] = judge::legal(*axis, most);
  }
  return axes;
}

/// Makes a case no larger than its results may be, and draws what the reference asks of its inputs.
void adapt(judge::CaseSpec& spec, const Problem& problem, const CasePool& pool) {
  spec.axes = told_apart(problem, pool.marks, pool.growth.within(problem, std::move(spec.axes)));
  spec.real_marks = pool.marks.real;
  spec.masks = pool.marks.masks;
  spec.distinct = pool.marks.distinct;
  spec.exact = pool.marks.exact;
  spec.scores = pool.marks.scores;
}

}  // namespace

CasePool draw_cases(const Problem& declared, const std::vector<DType>& dtypes, std::uint64_t seed,
                    const Options& options) {
  CasePool pool;
  pool.axes = declared.axes;
  auto problem = declared;
  Beyond beyond;
  std::size_t drawn = 0;
  const auto draw = [&] {
    pool.cases.clear();
    auto specs = judge::derive_cases(problem, dtypes, seed);
    if (pool.marks.answers_nothing) judge::add_cases_of_nothing(specs, seed);
    for (auto& spec : specs) {
      adapt(spec, problem, pool);
      spec.marks = pool.marks.whole;
    }
    pool.derived = static_cast<int>(specs.size());
    specs = judge::affordable(problem, pool.growth, std::move(specs), seed);
    drawn = specs.size();
    beyond = realise_all(pool, problem, specs, options);
  };
  try {
    if (!dtypes.empty()) {
      // Before the reference runs for the first time.
      const auto specs = judge::derive_cases(problem, dtypes, seed);
      require_memory(problem, {specs.data(), 1});
      pool.marks = judge::marks_of(problem, dtypes.front());
      auto& policies = problem.policies;
      policies.nan_meaningful = policies.nan_meaningful || pool.marks.nan;
      policies.inf_meaningful = policies.inf_meaningful || pool.marks.inf;
      pool.growth = judge::Growth::of(problem, dtypes.front());
    }
    draw();
    std::string within;
    if (beyond.count > 0) {
      if (auto axes = judge::narrowed_axes(problem, dtypes.front())) {
        const auto said = beyond.said;
        within = judge::describe_narrowed(declared, *axes);
        problem.axes = pool.axes = *std::move(axes);
        draw();
        beyond.said = said;
      }
    }
    if (beyond.timed || 2 * beyond.count > drawn) {
      pool.fault = beyond.said;
      return pool;
    }
    if (!beyond.said.empty()) pool.notes.push_back(raised(beyond, within, drawn));
    if (std::cmp_less(drawn, pool.derived)) pool.notes.push_back(fewer(drawn, pool.derived));
    pool.fault = fault_of(problem, pool, dtypes);
  } catch (const judge::ReferenceFault& fault) {
    pool.fault = fault.what();
  }
  return pool;
}

CasePool with_landmarks(const CasePool& pool, const Problem& declared, const Candidate& candidate,
                        const std::vector<DType>& dtypes, std::uint64_t seed,
                        const Options& options) {
  CasePool all = pool;
  if (all.fault) {
    return all;
  }
  auto problem = declared;
  problem.axes = pool.axes;
  const auto landmarks = judge::landmarks_of(candidate.source, pool.marks.whole);
  try {
    auto specs = judge::landmark_cases(problem, dtypes, seed, landmarks, all.derived);
    for (auto& spec : specs) {
      adapt(spec, problem, pool);
    }
    static_cast<void>(realise_all(all, problem, specs, options));
    judge::hold_to_copies(all.cases);
  } catch (const judge::ReferenceFault& fault) {
    all.fault = fault.what();
  }
  return all;
}

}  // namespace ouroboros::referee
