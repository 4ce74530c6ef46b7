#include <fmt/format.h>

#include "referee/stages.hpp"

namespace ouroboros::referee {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// The compiler's first error, or its first line.
std::string first_error(const std::string& log) {
  auto at = log.find("error:");
  if (at == std::string::npos) {
    at = log.find("Error:");  // The assembler's.
  }
  if (at == std::string::npos) {
    return first_line(log);
  }
  const auto line = log.rfind('\n', at);
  return first_line(log.substr(line == std::string::npos ? 0 : line + 1));
}

std::string praise(const Verdict& verdict) {
  std::string text = verdict.correctness.ran
                         ? fmt::format("correct on {} cases", verdict.correctness.cases_passed)
                         : "compiles and loads";
  for (const auto& cell : verdict.timing.cells) {
    for (const auto& baseline : cell.baselines) {
      if (baseline.status == "timed") {
        text += fmt::format("; {:.2f}x [{:.2f}, {:.2f}] against {}", baseline.speedup.estimate,
                            baseline.speedup.low, baseline.speedup.high, baseline.name);
      }
    }
    break;  // The first cell speaks for all; the record has the others.
  }
  return text;
}

}  // namespace

std::string summary(const Verdict& verdict) {
  if (verdict.status == Status::ok) {
    return praise(verdict);
  }
  for (const auto& finding : verdict.findings) {
    if (finding.severity != "note") {
      return finding.evidence;
    }
  }
  if (verdict.status == Status::compile_error) {
    return "does not compile: " + first_error(verdict.compilation.log);
  }
  return std::string(to_string(verdict.status));
}

}  // namespace ouroboros::referee
