#pragma once

#include <cstdint>
#include <vector>

#include "catch.hpp"
#include "judge_answers.hpp"
#include "referee/stages.hpp"

/// Answers to all that a verdict asks of any candidate.
namespace ouroboros_test {

inline constexpr std::uint64_t seeds = 6;

/// By how many of as many seeds each answer is refused.
inline std::vector<std::uint64_t> refused_by(const ouroboros::Problem& problem,
                                             ouroboros::DType dtype,
                                             const std::vector<Answer>& answers) {
  std::vector<std::uint64_t> count(answers.size());
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const auto pool = ouroboros::referee::draw_cases(problem, {dtype}, seed, {});
    INFO(pool.fault.value_or(""));
    REQUIRE_FALSE(pool.fault.has_value());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      count[i] += refused(problem, pool.cases, answers[i]) > 0 ? 1 : 0;
    }
  }
  return count;
}

}  // namespace ouroboros_test
