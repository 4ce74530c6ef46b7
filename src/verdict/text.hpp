#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ouroboros/timing.hpp"

/// Pieces of text for people and for models.
namespace ouroboros::text {

/// `bytes` made fit to be shown: control characters, text direction overrides and what is no UTF-8
/// become '?', so that nothing a candidate wrote can drive a terminal or break a decoder. Line
/// breaks become spaces. Of what is longer than `most` bytes the middle is left out.
[[nodiscard]] std::string printable(std::string_view bytes, std::size_t most = 400);

/// The lines of `log` that matter most: up to `most` from the first one that speaks of an error.
[[nodiscard]] std::vector<std::string> error_lines(std::string_view log, std::size_t most);

/// Names joined by ", ".
[[nodiscard]] std::string join(std::span<const std::string> names);

/// "rows=7 cols=33".
[[nodiscard]] std::string axes(const std::map<std::string, std::int64_t>& values);

/// A figure with three significant digits.
[[nodiscard]] std::string figure(double value);

/// "0.43 times", or words where no figure tells more: a NaN or an infinity in the wrong place.
[[nodiscard]] std::string times_allowed(double error_over_allowed);

/// "1.83x [1.80, 1.86]".
[[nodiscard]] std::string ratio(const timing::Interval& interval);

/// "812 us [805, 820]".
[[nodiscard]] std::string latency(const timing::Interval& interval_us);

/// "1 case", "2 cases".
[[nodiscard]] std::string count(std::int64_t number, std::string_view singular);

}  // namespace ouroboros::text
