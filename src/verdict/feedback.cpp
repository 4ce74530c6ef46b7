#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "ouroboros/verdict.hpp"
#include "verdict/diagnosis.hpp"
#include "verdict/text.hpp"

// A model sees this text and then writes the next candidate, so it holds nothing that would help
// to recognise the cases: no seed, no provenance. The figures of the cases themselves are enough.

namespace ouroboros {
namespace {

using text::printable;

constexpr std::size_t most_cases = 3;
constexpr std::size_t most_causes = 3;
constexpr std::size_t most_log_lines = 12;
// A share of the hand-over above which the kernel itself hardly shows in the measured time.
constexpr double dominant_share = 0.5;

class Text {
 public:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    if (!text_.empty()) text_ += '\n';
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  std::string text_;
};

std::string where(const std::string& dtype, const std::map<std::string, std::int64_t>& axes) {
  return fmt::format("{} {}", printable(dtype), text::axes(axes));
}

void tell_findings(const Verdict& verdict, Text& out) {
  std::set<std::string_view> advised;
  for (const Finding& finding : verdict.findings) {
    if (finding.severity == "note") continue;
    out.line("{} ({}): {}", printable(finding.kind), printable(finding.stage),
             printable(finding.evidence));
    const std::string_view advice = diagnosis::advice(finding.kind);
    if (!advice.empty() && advised.insert(finding.kind).second) out.line("  {}", advice);
  }
}

void tell_compilation(const Verdict& verdict, Text& out) {
  const std::vector<std::string> lines = text::error_lines(verdict.compilation.log, most_log_lines);
  if (lines.empty()) return;
  out.line("The compiler said:");
  for (const std::string& line : lines) out.line("  {}", line);
}

void tell_case(const CaseResult& one, Text& out) {
  std::string figures;
  if (one.wrong_elements > 0) {
    figures = fmt::format(" The error is {} what is allowed; the reference's own is {}.",
                          text::times_allowed(one.error_over_allowed),
                          text::figure(one.reference_max_abs_error));
  }
  out.line("Failed: {}, {} values: {}.{}", where(one.dtype, one.axes), printable(one.family),
           printable(one.message), figures);
}

// Different ways to fail teach more than repetitions, and small cases are the easiest to follow.
std::vector<const CaseResult*> telling_cases(const std::vector<CaseResult>& cases) {
  std::vector<const CaseResult*> failed;
  for (const CaseResult& one : cases) {
    if (one.status == "failed") failed.push_back(&one);
  }
  std::stable_sort(failed.begin(), failed.end(), [](const CaseResult* a, const CaseResult* b) {
    return a->elements < b->elements;
  });
  std::vector<const CaseResult*> chosen;
  std::set<std::pair<std::string, std::string>> seen;
  for (const CaseResult* one : failed) {
    if (chosen.size() == most_cases) break;
    if (seen.emplace(one->dtype, one->family).second) chosen.push_back(one);
  }
  return chosen;
}

void tell_correctness(const Correctness& record, Text& out) {
  if (!record.ran) return;
  if (record.cases_passed == record.cases_total) {
    out.line("{}: all correct ({}).", text::count(record.cases_total, "case"),
             text::join(record.dtypes));
    return;
  }
  out.line("{} of {} passed.", record.cases_passed, text::count(record.cases_total, "case"));
  for (const CaseResult* one : telling_cases(record.cases)) tell_case(*one, out);
  for (const std::string& cause : diagnosis::likely_causes(record, most_causes)) {
    out.line("Likely cause: {}", cause);
  }
}

void tell_baseline(const BaselineTiming& baseline, Text& out) {
  if (baseline.status != "timed") return;
  const std::string_view meaning = baseline.speedup.low > 1.0    ? "faster"
                                   : baseline.speedup.high < 1.0 ? "slower"
                                                                 : "no proven difference";
  out.line("  against {}: {} ({})", printable(baseline.name), text::ratio(baseline.speedup),
           meaning);
}

/// What of the latency is the hand-over: on a GPU nothing, unless it could not be taken off.
double handed_over_us(const TimedCell& cell) {
  const bool on_host = cell.estimator.empty();
  const bool bound = std::ranges::find(cell.flags, "launch_bound") != cell.flags.end();
  return on_host || bound ? cell.handover_us : 0.0;
}

double traffic_gb_per_s(const TimedCell& cell) {
  const double busy_us = cell.latency_us.estimate - handed_over_us(cell);
  // Bytes per microsecond are megabytes per second.
  return busy_us > 0.0 ? static_cast<double>(cell.bytes_min) / busy_us / 1e3 : 0.0;
}

void tell_speed_hints(const Timing& record, Text& out) {
  const auto hidden = [](const TimedCell& cell) {
    return handed_over_us(cell) > dominant_share * cell.latency_us.estimate;
  };
  const TimedCell* slowest = nullptr;
  const TimedCell* quickest = nullptr;
  for (const TimedCell& cell : record.cells) {
    if (hidden(cell)) {
      out.line("Hint: at {} most of the time is the hand-over; a better kernel will hardly show.",
               where(cell.dtype, cell.axes));
      continue;
    }
    const double traffic = traffic_gb_per_s(cell);
    if (slowest == nullptr || traffic < traffic_gb_per_s(*slowest)) slowest = &cell;
    if (quickest == nullptr || traffic > traffic_gb_per_s(*quickest)) quickest = &cell;
  }
  if (slowest == nullptr) return;
  const std::string best = slowest == quickest
                               ? ""
                               : fmt::format(", the least of the timed shapes (best: {} GB/s)",
                                             text::figure(traffic_gb_per_s(*quickest)));
  out.line(
      "Hint: {} moves its compulsory bytes at {} GB/s{}. Fewer passes over the data, vector "
      "code and work kept in cache raise it.",
      where(slowest->dtype, slowest->axes), text::figure(traffic_gb_per_s(*slowest)), best);
}

void tell_timing(const Timing& record, Text& out) {
  if (!record.ran) {
    out.line("It was not timed.");
    return;
  }
  for (const TimedCell& cell : record.cells) {
    out.line("Time at {}: {}", where(cell.dtype, cell.axes), text::latency(cell.latency_us));
    for (const BaselineTiming& baseline : cell.baselines) tell_baseline(baseline, out);
  }
  tell_speed_hints(record, out);
}

std::string_view headline(Status status) {
  switch (status) {
    case Status::ok:
      return "Correct.";
    case Status::compile_error:
      return "Did not compile.";
    case Status::runtime_error:
      return "Crashed while running.";
    case Status::incorrect:
      return "Wrong results.";
    case Status::rejected:
      return "Rejected: this games the measurement instead of computing.";
    case Status::timeout:
      return "Ran out of time.";
    case Status::invalid_problem:
      return "No judgement: the problem itself is at fault, not the candidate.";
    case Status::infrastructure_error:
      return "No judgement: the referee's machine failed, not the candidate.";
  }
  return "";
}

}  // namespace

std::string Verdict::feedback() const {
  Text out;
  out.line("{}", headline(status));
  if (is_infrastructure_fault(status)) return std::move(out).take();
  if (status != Status::ok && !summary.empty()) out.line("{}", printable(summary));
  tell_findings(*this, out);
  if (status == Status::compile_error) tell_compilation(*this, out);
  tell_correctness(correctness, out);
  if (status == Status::ok) {
    tell_timing(timing, out);
    if (!correctness.dtypes_missing.empty()) {
      out.line("Not exported, so not judged: {}.", text::join(correctness.dtypes_missing));
    }
  }
  return std::move(out).take();
}

}  // namespace ouroboros
