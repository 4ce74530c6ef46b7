#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "ouroboros/verdict.hpp"
#include "verdict/text.hpp"

namespace ouroboros {
namespace {

using text::printable;

constexpr std::size_t most_failed_cases = 5;
constexpr std::size_t most_error_lines = 6;

/// Lines of a text, with an indent for each.
class Lines {
 public:
  template <class... Args>
  void add(int depth, fmt::format_string<Args...> format, Args&&... args) {
    if (!text_.empty()) text_ += '\n';
    text_.append(static_cast<std::size_t>(2 * depth), ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  std::string text_;
};

void explain_compilation(const Verdict& verdict, Lines& lines) {
  const Compilation& record = verdict.compilation;
  if (!record.ran) return;
  if (record.succeeded) {
    lines.add(1, "compiled in {} ms: {} ({})", text::figure(record.duration_ms),
              text::join(record.entries), printable(record.compiler));
    for (const KernelUse& kernel : record.kernels) {
      const std::string share =
          kernel.device_time_share > 0
              ? fmt::format(", {:.0f} % of the device's time", 100 * kernel.device_time_share)
              : "";
      lines.add(2, "{} {} for {}: {}, {} B of stack, {} B of shared memory{}",
                kernel.origin == "library" ? "library kernel" : "kernel",
                printable(kernel.function), printable(record.target),
                text::count(kernel.registers, "register"), kernel.stack_bytes,
                kernel.shared_bytes + kernel.shared_dynamic_bytes, share);
    }
    return;
  }
  lines.add(1, "did not compile ({})", printable(record.compiler));
  for (const std::string& line : text::error_lines(record.log, most_error_lines)) {
    lines.add(2, "{}", line);
  }
}

void explain_correctness(const Correctness& record, Lines& lines) {
  if (!record.ran) return;
  lines.add(1, "{} of {} passed ({}); the largest error is {} what is allowed", record.cases_passed,
            text::count(record.cases_total, "case"), text::join(record.dtypes),
            text::times_allowed(record.max_error_over_allowed));
  std::size_t shown = 0;
  std::size_t failed = 0;
  for (const CaseResult& one : record.cases) {
    if (one.status != "failed") continue;
    ++failed;
    if (shown == most_failed_cases) continue;
    ++shown;
    lines.add(2, "case {} failed ({} {}, {}, {}): {}", one.id, printable(one.dtype),
              text::axes(one.axes), printable(one.family), printable(one.placement),
              printable(one.message));
  }
  if (failed > shown) lines.add(2, "and {} more", failed - shown);
}

void explain_timing(const Timing& record, Lines& lines) {
  if (!record.ran) return;
  lines.add(1, "timed ({}, {})", printable(record.clock), printable(record.mode));
  for (const TimedCell& cell : record.cells) {
    lines.add(2, "{} {}: {}", printable(cell.dtype), text::axes(cell.axes),
              text::latency(cell.latency_us));
    for (const BaselineTiming& baseline : cell.baselines) {
      if (baseline.status == "timed") {
        lines.add(3, "{} against {}: {}", text::ratio(baseline.speedup), printable(baseline.name),
                  printable(baseline.decision));
      } else {
        lines.add(3, "no comparison with {}: {}", printable(baseline.name),
                  printable(baseline.reason));
      }
    }
    if (!cell.flags.empty()) lines.add(3, "flags: {}", text::join(cell.flags));
  }
  if (record.cells.size() > 1) {
    for (const auto& [name, speedup] : record.geomean_speedup) {
      lines.add(2, "geometric mean {:.2f}x against {}", speedup, printable(name));
    }
  }
}

void explain_gate(const GateResult& record, Lines& lines) {
  if (!record.ran) return;
  lines.add(1, "stability gate {}: {} against {} over {}, safe to publish {:.2f}x",
            record.passed ? "passed" : "not passed", text::ratio(record.speedup),
            printable(record.baseline), text::count(record.runs, "fresh run"), record.safe_speedup);
  for (const std::string& reason : record.reasons) lines.add(2, "{}", printable(reason));
}

void explain_isolation(const Isolation& record, Lines& lines) {
  lines.add(1, "isolation {}: {}, namespaces {}, Landlock {}, resource limits {}{}",
            printable(record.level), record.sealed ? "system calls sealed" : "NOT sealed",
            record.namespaces.empty() ? "none" : text::join(record.namespaces),
            record.landlock_abi > 0 ? fmt::format("ABI {}", record.landlock_abi) : "none",
            record.resource_limits ? "in force" : "none",
            record.runs_as_root ? "; the referee runs as root" : "");
  for (const std::string& sentence : record.missing) lines.add(2, "{}", printable(sentence));
}

std::string not_done(const Verdict& verdict) {
  std::vector<std::string> items;
  if (!verdict.compilation.ran) items.emplace_back("compilation");
  if (!verdict.correctness.ran) items.emplace_back("correctness");
  if (!verdict.timing.ran) items.emplace_back("timing");
  if (!verdict.gate.ran) items.emplace_back("stability gate");
  for (const std::string& dtype : verdict.correctness.dtypes_missing) {
    items.push_back(dtype + " (not exported)");
  }
  const auto skipped =
      std::count_if(verdict.correctness.cases.begin(), verdict.correctness.cases.end(),
                    [](const CaseResult& one) { return one.status == "not_run"; });
  if (skipped > 0) items.push_back(text::count(skipped, "case"));
  return text::join(items);
}

}  // namespace

std::string Verdict::explain() const {
  Lines lines;
  lines.add(0, "{}: {} for {}", to_string(status), printable(candidate), printable(problem));
  if (!summary.empty()) lines.add(1, "{}", printable(summary));
  for (const Finding& finding : findings) {
    lines.add(1, "{} {} during {}: {}", printable(finding.severity), printable(finding.kind),
              printable(finding.stage), printable(finding.evidence));
  }
  explain_compilation(*this, lines);
  explain_correctness(correctness, lines);
  explain_timing(timing, lines);
  explain_gate(gate, lines);
  // A problem that is at fault itself, say, needed no isolation.
  if (compilation.ran || isolation.level != "none") explain_isolation(isolation, lines);
  if (const std::string items = not_done(*this); !items.empty()) {
    lines.add(1, "not done: {}", items);
  }
  return std::move(lines).take();
}

}  // namespace ouroboros
