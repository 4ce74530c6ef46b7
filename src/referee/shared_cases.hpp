#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "referee/stages.hpp"

namespace ouroboros {

/// Thread-safe: whoever needs cases while they are drawn waits for them.
class SharedCases::Pool {
 public:
  Pool(const Problem& problem, std::uint64_t seed);

  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  /// Throws `Error{invalid_argument}` for another problem than the cases'.
  void require(const Problem& problem) const;

  /// The cases of some dtypes, drawn with `cases_seed` when they are first asked for.
  [[nodiscard]] std::shared_ptr<const referee::CasePool> get(const Problem& problem,
                                                             const std::vector<DType>& dtypes,
                                                             std::uint64_t cases_seed,
                                                             const Options& options) const;

 private:
  std::string problem_;
  std::uint64_t seed_;
  mutable std::mutex mutex_;
  mutable std::map<std::vector<DType>, std::shared_ptr<const referee::CasePool>> drawn_;
};

}  // namespace ouroboros
