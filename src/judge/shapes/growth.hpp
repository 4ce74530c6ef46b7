#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ouroboros/api.hpp"
#include "ouroboros/problem.hpp"

namespace ouroboros::judge {

/// Elements of one result in the sweep: 32 MiB of float64.
inline constexpr double most_made = 1 << 22;

/// How large the results of a reference's operators become with the extents of its axes. Inputs of
/// few elements may make very many: an outer product, the scores of an attention.
class OUROBOROS_API Growth {
 public:
  /// Counts them in a small case, and again with one axis after another twice as long, or half.
  /// Knows of nothing where the reference cannot be run.
  [[nodiscard]] static Growth of(const Problem& problem, DType dtype);

  /// About how many elements the largest result has.
  [[nodiscard]] double largest(const AxisValues& axes) const;

  /// Halves axes, the widest first, until no result has more than `most_made` elements, as far as
  /// that is legal and helps.
  [[nodiscard]] AxisValues within(const Problem& problem, AxisValues axes) const;

 private:
  /// A result of one operator: its elements at `counted_at_`, which grow with powers of axes.
  struct Result {
    double elements = 0.0;
    std::map<std::string, double> powers;  ///< Of those that it grows with.
    auto operator<=>(const Result&) const = default;
  };

  [[nodiscard]] double at(const Result& result, const AxisValues& axes) const;
  [[nodiscard]] const Result* largest_result(const AxisValues& axes) const;

  AxisValues counted_at_;
  std::vector<Result> results_;
};

}  // namespace ouroboros::judge
