#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "judge/values/exponents.hpp"
#include "judge/values/layout.hpp"

namespace ouroboros::judge {

/// Turns rows of about N(0, 1) into rows of a family.
struct RowShaper {
  const Layout& layout;
  Exponents power;
  std::uint64_t choice;  ///< Random stream of positions.
  std::uint64_t level;   ///< Random stream of magnitudes.
  std::size_t kind;      ///< With a row's number added it says of what kind the row is.
  std::vector<double>& numbers;

  /// Rows from `first_row` to `last_row`, and without it, of one family.
  void shape(std::string_view family, std::size_t first_row, std::size_t last_row) const;

  /// The family "scattered", of all rows. Ordinary numbers but for a few rows, a few numbers, and
  /// one beyond all others, often near an end: who looks at some takes all for ordinary, and who
  /// skips a tail misses the largest.
  void scatter() const;
};

}  // namespace ouroboros::judge
