#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "judge/judge.hpp"

/// Answers to the cases of a problem, and how many of them the judge refuses.
namespace ouroboros_test {

using Answer = std::function<ouroboros::Tensors(const ouroboros::Tensors&)>;

/// All cases of one seed.
inline std::vector<ouroboros::judge::Case> realised(const ouroboros::Problem& problem,
                                                    const std::vector<ouroboros::DType>& dtypes) {
  std::vector<ouroboros::judge::Case> cases;
  for (const auto& spec : ouroboros::judge::derive_cases(problem, dtypes, 11)) {
    cases.push_back(ouroboros::judge::realise(problem, spec));
  }
  return cases;
}

/// In how many cases an answer is refused.
inline std::ptrdiff_t refused(const ouroboros::Problem& problem,
                              const std::vector<ouroboros::judge::Case>& cases,
                              const Answer& answer) {
  return std::ranges::count_if(cases, [&](const ouroboros::judge::Case& one) {
    ouroboros::Tensors made;
    for (const auto& output : answer(one.inputs)) made.push_back(output.contiguous());
    return ouroboros::judge::compare(problem, one, made).status != "passed";
  });
}

}  // namespace ouroboros_test
