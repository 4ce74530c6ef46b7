#include <fmt/format.h>

#include <algorithm>

#include "compile/compiler.hpp"
#include "referee/device/device.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee {
namespace {

/// What is wrong with a text that claims to be C++, before any compiler sees it.
std::optional<std::string> refuse_source(const Candidate& candidate, const Limits& limits) {
  const auto& source = candidate.source;
  if (is_too_long(candidate, limits)) {
    return fmt::format("the source has {} KiB, more than the limit of {} KiB", source.size() / 1024,
                       limits.source_kib);
  }
  if (source.find_first_not_of(" \t\r\n") == std::string::npos) {
    return "the source is empty: define what docs/abi.md or docs/gpu.md asks for";
  }
  if (source.find('\0') != std::string::npos) {
    return "the source is not text: it holds a zero byte";
  }
  return std::nullopt;
}

std::string prelude(const Problem& problem) {
  return "// Given to every candidate: its entry points, so that a wrong signature does not "
         "compile.\n#include <cstddef>\n#include <cstdint>\n" +
         judge::prototypes(problem);
}

/// Loads the module once, in a process of its own: what it exports, and whether loading it works.
void try_loading(const Problem& problem, const Options& options, Compiled& compiled) {
  std::vector<Call> calls;
  for (const auto dtype : judge::host_dtypes(problem)) {
    calls.push_back({judge::entry_point(dtype), {}, {}});
  }
  const auto executor = make_host_executor(options.limits, options.cancelled);
  const auto session =
      executor->open({compiled.image, calls}, std::make_shared<const Arena>(calls));
  if (session->opening().outcome != Outcome::returned) {
    const auto [status, finding] = misconduct(session->opening(), "load");
    compiled.failure = status;
    compiled.findings.push_back(finding);
    return;
  }
  std::string wanted;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    wanted += (i == 0 ? "" : ", ") + calls[i].entry;
    if (session->exports(i)) {
      compiled.record.entries.push_back(calls[i].entry);
    }
  }
  if (compiled.record.entries.empty()) {
    compiled.failure = Status::compile_error;
    compiled.findings.push_back(
        {"missing_entry_point", "error", "load",
         fmt::format("the module exports none of {}; `ouroboros problems show {}` prints their "
                     "prototypes",
                     wanted, problem.name)});
  }
}

}  // namespace

bool is_too_long(const Candidate& candidate, const Limits& limits) {
  return candidate.source.size() > static_cast<std::size_t>(limits.source_kib) * 1024;
}

Finding missing_dtypes() {
  return {"missing_entry_point", "error", "load",
          "the module exports no entry point for the dtypes asked for"};
}

Compiled compile(const Problem& problem, const Candidate& candidate, const Options& options) {
  const bool on_device = device::serves(candidate.language);
  if (candidate.language != "cpp" && !on_device) {
    throw Error(ErrorCode::unsupported,
                fmt::format("candidates in the language '{}' cannot be judged: use 'cpp', "
                            "'triton', 'python', 'cuda' or 'ptx'",
                            candidate.language));
  }
  if (!on_device && judge::host_dtypes(problem).empty()) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("problem '{}' has no dtype that C++ candidates on the host can be asked "
                    "for: give it float32 as well, or a GPU candidate",
                    problem.name));
  }
  Compiled compiled;
  compiled.candidate = candidate;
  const auto fail = [&compiled](Status status, const std::string& kind, const std::string& text) {
    compiled.failure = status;
    compiled.findings.push_back({kind, "error", "compile", text});
    return compiled;
  };
  if (const auto refusal = refuse_source(candidate, options.limits)) {
    compiled.record.ran = true;
    compiled.record.log = *refusal;
    return fail(Status::compile_error, "refused_source", *refusal);
  }
  if (on_device) {
    device::compile(problem, options, compiled);
    return compiled;
  }
  auto output =
      compile::compile_cpp(candidate.source, prelude(problem),
                           {options.limits, options.compiler, options.scratch, options.cancelled});
  compiled.record = std::move(output.record);
  compiled.image = std::move(output.image);
  switch (output.result) {
    case compile::Result::timed_out:
      return fail(
          Status::timeout, "timeout",
          fmt::format("the compiler was still busy after {:g} s", options.limits.compile_seconds));
    case compile::Result::failed:
      compiled.failure = Status::compile_error;
      return compiled;
    case compile::Result::compiled:
      try_loading(problem, options, compiled);
      break;
  }
  return compiled;
}

std::vector<DType> judged_dtypes(const Problem& problem, const Compiled& compiled,
                                 const Options& options) {
  const auto& entries = compiled.record.entries;
  std::vector<DType> dtypes;
  const bool on_device = device::serves(compiled.candidate.language);
  const auto usual = on_device ? device::dtypes(problem) : problem.dtypes;
  for (const auto dtype : options.dtypes.empty() ? usual : options.dtypes) {
    if (std::find(problem.dtypes.begin(), problem.dtypes.end(), dtype) == problem.dtypes.end()) {
      throw Error(ErrorCode::invalid_argument, fmt::format("problem '{}' is not defined for {}",
                                                           problem.name, to_string(dtype)));
    }
    if (std::find(entries.begin(), entries.end(), judge::entry_point(dtype)) != entries.end()) {
      dtypes.push_back(dtype);
    }
  }
  return dtypes;
}

}  // namespace ouroboros::referee
