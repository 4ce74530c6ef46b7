#include "referee/shared_cases.hpp"

#include <fmt/format.h>

#include "ouroboros/error.hpp"

namespace ouroboros {
namespace {

std::string name_of(const Problem& problem) { return problem.origin + " " + problem.name; }

}  // namespace

SharedCases::SharedCases(std::unique_ptr<Pool> pool) : pool_(std::move(pool)) {}
SharedCases::~SharedCases() = default;

SharedCases::Pool::Pool(const Problem& problem, std::uint64_t seed)
    : problem_(name_of(problem)), seed_(seed) {}

void SharedCases::Pool::require(const Problem& problem) const {
  if (name_of(problem) != problem_) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("these cases are of the problem '{}', not of '{}': share cases of each "
                            "problem by itself",
                            problem_, name_of(problem)));
  }
}

std::shared_ptr<const referee::CasePool> SharedCases::Pool::get(const Problem& problem,
                                                                const std::vector<DType>& dtypes,
                                                                std::uint64_t cases_seed,
                                                                const Options& options) const {
  const std::lock_guard guard(mutex_);
  auto& drawn = drawn_[dtypes];
  if (!drawn) {
    drawn = std::make_shared<const referee::CasePool>(
        referee::draw_cases(problem, dtypes, cases_seed, options));
  }
  return drawn;
}

}  // namespace ouroboros
