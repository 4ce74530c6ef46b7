#include "ouroboros/referee.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <chrono>
#include <new>

#include "base/room.hpp"
#include "judge/judge.hpp"
#include "judge/runs/run.hpp"
#include "referee/device/contender.hpp"
#include "referee/device/device.hpp"
#include "referee/device/plan_source.hpp"
#include "referee/rival.hpp"
#include "referee/shared_cases.hpp"
#include "referee/stages.hpp"

namespace ouroboros {
namespace {

using Clock = std::chrono::steady_clock;

// Purposes of seeds derived from a verdict's seed. Correctness depends on the first alone.
constexpr std::uint64_t cases_purpose = 1;
constexpr std::uint64_t timing_purpose = 2;
constexpr std::uint64_t gate_purpose = 3;

// No verdict can be had of less.
constexpr std::size_t least_bytes = std::size_t{32} << 20;
constexpr const char* no_memory = "the referee ran out of memory";

/// Adds a stage's wall time to the record, and to the log, when it goes.
class Stopwatch {
 public:
  Stopwatch(Verdict& verdict, const char* stage, const Options& options)
      : verdict_(verdict), stage_(stage), options_(options) {}
  ~Stopwatch() {
    try {
      const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
      verdict_.provenance.stage_s[stage_] = seconds;
      if (options_.log) {
        options_.log(fmt::format("{}: {} took {:.3f} s", verdict_.candidate, stage_, seconds));
      }
    } catch (...) {
      // Neither a want of memory here nor a broken log changes a verdict.
    }
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  Verdict& verdict_;
  const char* stage_;
  const Options& options_;
  Clock::time_point start_ = Clock::now();
};

/// Moves a stage's outcome into the verdict. False when the verdict is settled.
template <typename Outcome, typename Record>
bool take(Verdict& verdict, Outcome&& outcome, Record& record) {
  record = std::move(outcome.record);
  verdict.findings.insert(verdict.findings.end(), outcome.findings.begin(), outcome.findings.end());
  if (outcome.failure) {
    verdict.status = *outcome.failure;
  }
  return !outcome.failure;
}

/// Runs a stage by itself: what the problem did wrong is its outcome, as it is in `judge`.
template <typename Run>
auto alone(const char* stage, Run&& run) -> decltype(run()) {
  try {
    return run();
  } catch (const judge::ReferenceFault& fault) {
    decltype(run()) outcome;
    outcome.failure = Status::invalid_problem;
    outcome.findings.push_back({"invalid_problem", "error", stage, fault.what()});
    return outcome;
  }
}

/// A verdict that says what is judged, and nothing of it yet.
Verdict blank(const Problem& problem, const Candidate& candidate, std::uint64_t seed,
              const Options& options) {
  Verdict verdict;
  verdict.provenance = referee::provenance();
  verdict.provenance.seed = seed;
  verdict.problem = problem.name;
  verdict.problem_origin = problem.origin;
  verdict.candidate = candidate.name;
  verdict.language = candidate.language;
  if (!referee::is_too_long(candidate, options.limits)) {
    verdict.source = candidate.source;
  }
  verdict.source_sha256 = sha256_hex(candidate.source.data(), candidate.source.size());
  return verdict;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Ends a verdict with what broke.
void settle(Verdict& verdict, Status status, std::string_view kind, const std::string& evidence) {
  verdict.findings.push_back({std::string(kind), "error", "referee", evidence});
  verdict.status = status;
}

void require_module(const Compiled& compiled) {
  if (compiled.failure || (compiled.image.bytes.empty() && !compiled.plans)) {
    throw Error(ErrorCode::invalid_argument,
                "this stage needs a candidate that compiled: look at Compiled::failure first");
  }
}

}  // namespace

class Referee::Impl {
 public:
  explicit Impl(Options given) : options(std::move(given)) {}

  [[nodiscard]] std::uint64_t seed() const {
    return options.seed ? *options.seed : referee::secret_seed();
  }

  void judge(const Problem& problem, const Candidate& candidate, const SharedCases::Pool* shared,
             Verdict& verdict) const {
    const std::uint64_t seed = verdict.provenance.seed;
    if (referee::device::serves(candidate.language)) {
      referee::device::describe_gpu(options, verdict.provenance);
    }
    Compiled compiled;
    {
      const Stopwatch watch(verdict, "compile", options);
      compiled = referee::compile(problem, candidate, options);
      compiled.findings = concatenated(compiled.findings, referee::inspect(compiled));
    }
    verdict.compilation = compiled.record;
    verdict.findings = compiled.findings;
    verdict.provenance.trace = compiled.trace;
    if (compiled.failure) {
      verdict.status = *compiled.failure;
      return;
    }
    verdict.status = Status::ok;
    const auto dtypes = referee::judged_dtypes(problem, compiled, options);
    if (dtypes.empty()) {
      verdict.status = Status::compile_error;
      verdict.findings.push_back(referee::missing_dtypes());
      return;
    }
    if (options.until == Stage::compile) {
      return;
    }
    referee::CasePool pool;
    {
      const Stopwatch watch(verdict, "draw_cases", options);
      const SharedCases::Pool own(problem, seed);
      const auto cases_seed = referee::derive_seed(seed, cases_purpose);
      const auto of_all =
          (shared != nullptr ? *shared : own).get(problem, dtypes, cases_seed, options);
      pool = referee::with_landmarks(*of_all, problem, candidate, dtypes, cases_seed, options);
    }
    if (pool.fault) {
      verdict.status = Status::invalid_problem;
      verdict.findings.push_back({"invalid_problem", "error", "sweep", *pool.fault});
      return;
    }
    verdict.findings = concatenated(verdict.findings, pool.notes);
    {
      const Stopwatch watch(verdict, "sweep", options);
      auto outcome = referee::sweep(problem, compiled, pool, options);
      verdict.isolation = outcome.isolation;
      verdict.provenance.stage_s["sweep_replay"] = outcome.replay_s;
      verdict.provenance.stage_s["sweep_kernels"] = outcome.kernels_s;
      if (compiled.plans) {
        verdict.provenance.trace = compiled.plans->trace();
        if (const auto live = compiled.plans->live_isolation()) {
          auto& missing = verdict.isolation.missing;
          missing.insert(missing.end(), live->missing.begin(), live->missing.end());
        }
      }
      for (auto& kernel : verdict.compilation.kernels) {
        if (const auto share = outcome.device_time_share.find(kernel.function);
            share != outcome.device_time_share.end()) {
          kernel.device_time_share = share->second;
        }
      }
      if (!take(verdict, std::move(outcome), verdict.correctness) ||
          options.until == Stage::sweep) {
        return;
      }
    }
    if (referee::device::serves(candidate.language)) {
      if (auto note = referee::device::cannot_time(options)) {
        verdict.findings.push_back(std::move(*note));
        return;
      }
    }
    {
      const Stopwatch watch(verdict, "time", options);
      auto outcome =
          referee::time(problem, compiled, referee::derive_seed(seed, timing_purpose), options);
      verdict.provenance.stage_s["time_oracle"] = outcome.oracle_s;
      if (!take(verdict, std::move(outcome), verdict.timing) || options.until == Stage::time) {
        return;
      }
    }
    const Stopwatch watch(verdict, "gate", options);
    take(verdict,
         referee::gate(problem, compiled, referee::derive_seed(seed, gate_purpose), options),
         verdict.gate);
  }

  Options options;

 private:
  static std::vector<Finding> concatenated(std::vector<Finding> first,
                                           const std::vector<Finding>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }
};

namespace referee {

void check_cancelled(const Options& options) {
  if (options.cancelled && options.cancelled()) {
    throw Error(ErrorCode::cancelled, "cancelled by the caller");
  }
}

}  // namespace referee

Referee::Referee(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {
  referee::check(impl_->options);
}
Referee::~Referee() = default;
Referee::Referee(Referee&&) noexcept = default;
Referee& Referee::operator=(Referee&&) noexcept = default;

const Options& Referee::options() const noexcept { return impl_->options; }

Verdict Referee::judge(const Problem& problem, const Candidate& candidate) const {
  return judge_on(problem, candidate, nullptr);
}

std::unique_ptr<SharedCases> Referee::share_cases(const Problem& problem) const {
  problem.check();
  return std::unique_ptr<SharedCases>(
      new SharedCases(std::make_unique<SharedCases::Pool>(problem, impl_->seed())));
}

Verdict Referee::judge(const Problem& problem, const Candidate& candidate,
                       const SharedCases& cases) const {
  cases.pool_->require(problem);
  return judge_on(problem, candidate, cases.pool_.get());
}

Verdict Referee::judge_on(const Problem& problem, const Candidate& candidate,
                          const SharedCases::Pool* shared) const {
  return record(problem, candidate, shared != nullptr ? shared->seed() : impl_->seed(),
                [&](Verdict& verdict) { impl_->judge(problem, candidate, shared, verdict); });
}

Verdict Referee::compare(const Problem& problem, const Contender& a, const Contender& b) const {
  problem.check();
  if (referee::on_host(a) != referee::on_host(b)) {
    const auto& host = referee::on_host(a) ? a : b;
    const auto& gpu = referee::on_host(a) ? b : a;
    throw Error(ErrorCode::unsupported,
                fmt::format("'{}' runs on the host and '{}' on a GPU: only two of a kind can be "
                            "compared",
                            host.name, gpu.name));
  }
  Problem against = problem;
  against.baselines = {referee::rival(problem, b, impl_->options)};
  if (const auto* candidate = std::get_if<Candidate>(&a.what)) {
    auto verdict = judge_on(against, *candidate, nullptr);
    verdict.provenance.compared_with = b.name;
    return verdict;
  }
  // What plans of a library's kernels are compared for is no secret of theirs.
  against.policies.library_kernels = LibraryKernels::allow;
  Compiled compiled;
  compiled.candidate.name = a.name;
  compiled.candidate.language = referee::device::plan_language;
  compiled.plans = referee::device::source_of(referee::rival(problem, a, impl_->options));
  for (const auto dtype : problem.dtypes) {
    compiled.record.entries.push_back(judge::entry_point(dtype));
  }
  return record(against, compiled.candidate, impl_->seed(), [&](Verdict& verdict) {
    const auto& options = impl_->options;
    verdict.status = Status::ok;
    verdict.provenance.compared_with = b.name;
    referee::device::describe_gpu(options, verdict.provenance);
    if (auto none = referee::device::cannot_time(options)) {
      throw Error(ErrorCode::unsupported, none->evidence);
    }
    const std::uint64_t seed = verdict.provenance.seed;
    {
      const Stopwatch watch(verdict, "time", options);
      auto outcome =
          referee::time(against, compiled, referee::derive_seed(seed, timing_purpose), options);
      if (!take(verdict, std::move(outcome), verdict.timing) || options.until != Stage::gate) {
        return;
      }
    }
    const Stopwatch watch(verdict, "gate", options);
    take(verdict,
         referee::gate(against, compiled, referee::derive_seed(seed, gate_purpose), options),
         verdict.gate);
  });
}

Calibration Referee::calibrate(bool fresh) const {
  return referee::device::calibrated(impl_->options, fresh);
}

Verdict Referee::record(const Problem& problem, const Candidate& candidate, std::uint64_t seed,
                        const std::function<void(Verdict&)>& work) const {
  problem.check();
  const auto start = Clock::now();
  const auto worked = [&](Verdict& verdict) {
    try {
      if (!has_room(least_bytes)) {
        throw std::bad_alloc();
      }
      work(verdict);
    } catch (const judge::ReferenceFault& fault) {
      settle(verdict, Status::invalid_problem, "invalid_problem", fault.what());
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled || error.code() == ErrorCode::invalid_argument ||
          error.code() == ErrorCode::unsupported) {
        throw;
      }
      settle(verdict, Status::infrastructure_error, to_string(error.code()), error.what());
    } catch (const std::exception& error) {
      const std::string said = first_line(error.what());  // LibTorch's are followed by its frames.
      if (judge::is_want_of_memory(said)) {
        settle(verdict, Status::infrastructure_error, "out_of_memory", no_memory);
      } else {
        settle(verdict, Status::infrastructure_error, "internal", said);
      }
    }
    if (verdict.timing.ran) {
      // Cases of timed shapes are large, and the allocator would keep their memory.
      malloc_trim(0);
    }
  };
  const auto recorded = [&](const std::function<void(Verdict&)>& fill) {
    auto verdict = blank(problem, candidate, seed, impl_->options);
    fill(verdict);
    verdict.provenance.duration_s = std::chrono::duration<double>(Clock::now() - start).count();
    verdict.summary = referee::summary(verdict);
    return verdict;
  };
  try {
    return recorded(worked);
  } catch (const std::bad_alloc&) {
    // Not even for the record. What it held is free again: there is room for one that says so.
  }
  return recorded([](Verdict& verdict) {
    settle(verdict, Status::infrastructure_error, "out_of_memory", no_memory);
  });
}

std::optional<std::string> Referee::validate(const Problem& problem) const {
  problem.check();
  return referee::draw_cases(problem, problem.dtypes,
                             referee::derive_seed(impl_->seed(), cases_purpose), impl_->options)
      .fault;
}

Compiled Referee::compile(const Problem& problem, const Candidate& candidate) const {
  problem.check();
  return alone("compile", [&] { return referee::compile(problem, candidate, impl_->options); });
}

std::vector<Finding> Referee::inspect(const Compiled& compiled) const {
  return referee::inspect(compiled);
}

SweepOutcome Referee::sweep(const Problem& problem, const Compiled& compiled) const {
  problem.check();
  require_module(compiled);
  const auto dtypes = referee::judged_dtypes(problem, compiled, impl_->options);
  SweepOutcome outcome;
  if (dtypes.empty()) {
    outcome.failure = Status::compile_error;
    outcome.findings.push_back(referee::missing_dtypes());
    return outcome;
  }
  const auto seed = referee::derive_seed(impl_->seed(), cases_purpose);
  const auto& options = impl_->options;
  const auto pool = referee::with_landmarks(referee::draw_cases(problem, dtypes, seed, options),
                                            problem, compiled.candidate, dtypes, seed, options);
  if (pool.fault) {
    outcome.failure = Status::invalid_problem;
    outcome.findings.push_back({"invalid_problem", "error", "sweep", *pool.fault});
    return outcome;
  }
  outcome = referee::sweep(problem, compiled, pool, options);
  outcome.findings.insert(outcome.findings.end(), pool.notes.begin(), pool.notes.end());
  return outcome;
}

TimingOutcome Referee::time(const Problem& problem, const Compiled& compiled) const {
  problem.check();
  require_module(compiled);
  return alone("time", [&] {
    return referee::time(problem, compiled, referee::derive_seed(impl_->seed(), timing_purpose),
                         impl_->options);
  });
}

GateOutcome Referee::gate(const Problem& problem, const Compiled& compiled) const {
  problem.check();
  require_module(compiled);
  return alone("gate", [&] {
    return referee::gate(problem, compiled, referee::derive_seed(impl_->seed(), gate_purpose),
                         impl_->options);
  });
}

}  // namespace ouroboros
