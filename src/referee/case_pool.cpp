#include <fmt/format.h>

#include <algorithm>

#include "judge/extents.hpp"
#include "judge/landmarks.hpp"
#include "judge/run.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee {
namespace {

/// Whether a case is of a cell that candidates are timed in.
bool is_timed(const Problem& problem, const judge::CaseSpec& spec) {
  return spec.family == "normal" && std::ranges::any_of(problem.timed, [&](const AxisValues& cell) {
           return judge::shortened(problem, cell, judge::most_timed_elements) == spec.axes;
         });
}

/// Cases that the reference raised in, and what it said first.
struct Beyond {
  std::size_t count = 0;
  std::string said;
};

/// Extents that nobody asked for may be beyond what a reference is meant for: fewer elements than
/// its window has, or a number that its groups do not divide. What it gives no answer to, no
/// candidate is asked. Raises in a timed cell all the same.
Beyond realise_all(CasePool& pool, const Problem& problem,
                   const std::vector<judge::CaseSpec>& specs, const Options& options) {
  Beyond beyond;
  for (const auto& spec : specs) {
    check_cancelled(options);
    require_memory(problem, spec);
    try {
      pool.cases.push_back(judge::realise(problem, spec));
    } catch (const judge::ReferenceRaised& fault) {
      if (is_timed(problem, spec)) throw;
      if (beyond.count++ == 0) beyond.said = fault.what();
    }
  }
  return beyond;
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
std::optional<std::string> unstable(const Problem& problem, const std::vector<judge::Case>& cases,
                                    DType dtype) {
  std::vector<const judge::Case*> ordinary;
  for (const auto& one : cases) {
    if (one.spec.dtype == dtype && one.spec.family == "normal") ordinary.push_back(&one);
  }
  const auto lost =
      std::ranges::partition(ordinary, [](const judge::Case* one) { return !is_lost(*one); });
  const bool timed =
      std::ranges::any_of(lost, [&](const auto* one) { return is_timed(problem, one->spec); });
  if (!timed && 2 * lost.size() <= ordinary.size()) return std::nullopt;
  return "the reference gives infinity or NaN where the true value is finite: leave this dtype out "
         "of the problem or make the reference stable" +
         judge::in_case(lost.front()->spec);
}

std::optional<std::string> fault_of(const Problem& problem, const std::vector<judge::Case>& cases,
                                    const std::vector<DType>& dtypes) {
  for (const auto dtype : dtypes) {
    if (auto fault = unstable(problem, cases, dtype)) return fault;
  }
  return judge::validate(problem, cases);
}

}  // namespace

CasePool draw_cases(const Problem& problem, const std::vector<DType>& dtypes, std::uint64_t seed,
                    const Options& options) {
  CasePool pool;
  try {
    const auto specs = judge::derive_cases(problem, dtypes, seed);
    pool.derived = static_cast<int>(specs.size());
    const auto beyond = realise_all(pool, problem, specs, options);
    if (2 * beyond.count > specs.size()) {
      pool.fault = beyond.said;
      return pool;
    }
    if (beyond.count > 0) {
      pool.note = {"reference_raised", "note", "sweep",
                   fmt::format("{} of {} cases are left out, since {}. Say which extents the "
                               "problem is for (minimum, multiple_of), so that others are drawn",
                               beyond.count, specs.size(), beyond.said)};
    }
    pool.fault = fault_of(problem, pool.cases, dtypes);
  } catch (const judge::ReferenceFault& fault) {
    pool.fault = fault.what();
  }
  return pool;
}

CasePool with_landmarks(const CasePool& pool, const Problem& problem, const Candidate& candidate,
                        const std::vector<DType>& dtypes, std::uint64_t seed,
                        const Options& options) {
  CasePool all = pool;
  if (all.fault) {
    return all;
  }
  const auto landmarks = judge::landmarks_of(candidate.source);
  try {
    realise_all(all, problem, judge::landmark_cases(problem, dtypes, seed, landmarks, all.derived),
                options);
  } catch (const judge::ReferenceFault& fault) {
    all.fault = fault.what();
  }
  return all;
}

}  // namespace ouroboros::referee
