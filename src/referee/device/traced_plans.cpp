#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "ouroboros/error.hpp"
#include "ouroboros/tracer.hpp"
#include "referee/device/gpu.hpp"
#include "referee/device/plan_source.hpp"
#include "referee/device/trace_faults.hpp"

namespace ouroboros::referee::device {
namespace {

/// Signatures of one live trace: a plan of libraries' kernels may have tens of MiB, and all of a
/// request share its time and its reply. Who times waits for those that run.
constexpr std::size_t live_batch = 8;

/// Live traces of one candidate side by side: each takes memory for a context on the GPU.
constexpr std::size_t most_live_processes = 4;

// A trace of many shapes is spread over processes, to shorten a verdict; other verdicts want
// processors too, and a candidate that counts its calls should see some.
constexpr std::size_t most_processes = 8;
constexpr std::size_t least_shapes = 5;

// An autotuned kernel is compiled for every configuration of every shape that Triton tells from the
// others. So a process that traces several shapes gets the time of as many compilations, of some.
constexpr std::size_t most_times = 4;

/// Whether there was no room for it on the GPU, which others may have had.
bool lacks_memory(const TraceResult& result) {
  if (!result.refusal) return false;
  const auto& message = result.refusal->message;
  return message.find("out of memory") != std::string::npos ||
         message.find("OUT_OF_MEMORY") != std::string::npos;
}

/// Traces every call once, those that are asked for together in few processes: dry, and on the GPU
/// where a dry trace cannot follow. There what is timed is traced once more, when nobody else uses
/// the GPU: candidates may choose by what they measure.
class TracedPlans final : public PlanSource {
 public:
  TracedPlans(const Problem& problem, const Candidate& candidate, const std::string& target,
              const Options& options)
      : options_(options),
        has_gpu_(Gpu::present(options)),
        outputs_(problem.outputs),
        library_kernels_(problem.policies.library_kernels != LibraryKernels::forbid),
        log_bytes_(static_cast<std::size_t>(options.limits.log_kib) * 1024) {
    const auto& device = options.device;
    if (candidate.language == "python" ? !device.live_tracer : !device.tracer) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("candidates in {} need a tracer: from Python install `triton`, from "
                              "C++ set Options::device.{}",
                              candidate.language == "python" ? "Python" : "Triton",
                              candidate.language == "python" ? "live_tracer" : "tracer"));
    }
    request_.source = candidate.source;
    request_.name = candidate.name;
    request_.language = candidate.language;
    request_.target = target;
    request_.max_variants = max_variants;
    if (has_gpu_) {
      const auto gpu = Gpu::describe(options);
      request_.device = gpu.target == target ? gpu.name : "";
    }
    record_.compiler = candidate.language;
    // A dry trace would only learn that this is not Triton.
    live_ = can_trace_live() && (candidate.language == "python" ||
                                 candidate.source.find("triton") == std::string::npos);
  }

  ~TracedPlans() override {
    if (options_.device.live_tracer) {
      options_.device.live_tracer->forget(builds_);
    }
  }

  std::vector<Planned> plans(const std::vector<PlanRequest>& requests) override {
    const std::lock_guard guard(mutex_);
    std::vector<Key> keys;
    Wanted wanted;
    bool alone = false;
    for (const auto& request : requests) {
      TraceSignature signature;
      Key key;
      for (auto& buffer : signature_of(request.buffers)) {
        if (buffer.role != PlanRole::input) continue;
        key += fmt::format("{}:{};", to_string(buffer.dtype), fmt::join(buffer.shape, ","));
        signature.inputs.push_back(std::move(buffer));
      }
      signature.outputs = outputs_;
      keys.push_back(key);
      // A shape that several cases share is traced once.
      const auto same = [&key](const auto& one) { return one.first == key; };
      const bool known = known_.contains(key) && !(request.timed && disturbed_.contains(key));
      if (!known && std::none_of(wanted.begin(), wanted.end(), same)) {
        wanted.emplace_back(key, std::move(signature));
        alone |= request.timed;
      }
    }
    if (!live_ && !wanted.empty()) {
      wanted = trace_dry(wanted);
      live_ = !wanted.empty();
    }
    if (!wanted.empty()) {
      trace_live(wanted, alone);
    }
    std::vector<Planned> all;
    for (const auto& key : keys) {
      all.push_back(known_.at(key));
    }
    return all;
  }

  [[nodiscard]] Compilation record() const override {
    const std::lock_guard guard(mutex_);
    return record_;
  }

  [[nodiscard]] std::string trace() const override {
    const std::lock_guard guard(mutex_);
    return live_ ? "live" : "dry";
  }

  [[nodiscard]] std::optional<Isolation> live_isolation() const override {
    const std::lock_guard guard(mutex_);
    return isolation_;
  }

 private:
  using Key = std::string;
  using Wanted = std::vector<std::pair<Key, TraceSignature>>;

  [[nodiscard]] bool can_trace_live() const { return has_gpu_ && options_.device.live_tracer; }

  std::vector<TraceResult> trace(Tracer& tracer, const Wanted& wanted, double seconds,
                                 const std::string& builds = {}) const {
    auto request = request_;
    for (const auto& [key, signature] : wanted) {
      request.signatures.push_back(signature);
    }
    request.seconds = seconds;
    request.builds = builds;
    return tracer.trace(request);
  }

  /// Traces `wanted` in equal parts, up to `at_once` of them side by side.
  template <class Trace>
  static std::vector<TraceResult> in_parts(const Wanted& wanted, std::size_t parts,
                                           std::size_t at_once, const Trace& trace_part) {
    std::vector<std::vector<TraceResult>> found(parts);
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t part = next++; part < parts; part = next++) {
        const auto at = [&](std::size_t which) {
          return wanted.begin() + static_cast<std::ptrdiff_t>(wanted.size() * which / parts);
        };
        try {
          found[part] = trace_part(Wanted(at(part), at(part + 1)));
        } catch (...) {
          next = parts;
          throw;
        }
      }
    };
    std::vector<std::future<void>> workers;
    for (std::size_t i = 0; i < std::min(parts, at_once); ++i) {
      // Deferred where no thread can be had.
      workers.push_back(std::async(std::launch::async | std::launch::deferred, work));
    }
    for (auto& worker : workers) {
      worker.wait();
    }
    for (auto& worker : workers) {
      worker.get();
    }
    std::vector<TraceResult> results;
    for (auto& part : found) {
      std::ranges::move(part, std::back_inserter(results));
    }
    return results;
  }

  /// Traces in several processes side by side, each of which compiles what its own shapes need.
  std::vector<TraceResult> trace_side_by_side(Tracer& tracer, const Wanted& wanted) const {
    const auto most =
        std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, most_processes);
    const auto processes = std::clamp<std::size_t>(wanted.size() / least_shapes, 1, most);
    return in_parts(wanted, processes, processes, [&](const Wanted& part) {
      const auto times = std::min(part.size(), most_times);
      return trace(tracer, part, options_.limits.compile_seconds * static_cast<double>(times));
    });
  }

  /// Traces on the GPU, where nobody times meanwhile, here or in another process. `alone`: nor does
  /// anybody else use it.
  std::vector<TraceResult> trace_on_gpu(const Wanted& wanted, bool alone) const {
    const auto traced = [&](const Wanted& part) {
      return trace(*options_.device.live_tracer, part, 0, builds_);
    };
    const auto batches = (wanted.size() + live_batch - 1) / live_batch;
    if (alone) {
      const Gpu gpu(options_);
      return in_parts(wanted, batches, 1, traced);
    }
    const auto parts = std::max(
        batches, std::clamp<std::size_t>(wanted.size() / least_shapes, 1, most_live_processes));
    auto results = in_parts(wanted, parts, most_live_processes, [&](const Wanted& part) {
      const TracingPlace place(options_);
      return traced(part);
    });
    Wanted again;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!lacks_memory(results[i])) continue;
      again.push_back(wanted[i]);
      places.push_back(i);
    }
    if (!again.empty()) {
      auto found = trace_on_gpu(again, true);
      for (std::size_t i = 0; i < places.size(); ++i) results[places[i]] = std::move(found[i]);
    }
    return results;
  }

  /// Returns what has to be traced live.
  Wanted trace_dry(const Wanted& wanted) {
    auto results = trace_side_by_side(*options_.device.tracer, wanted);
    const std::string why_not = has_gpu_ ? "this referee has no live tracer" : "there is none here";
    Wanted left;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto& refusal = results.at(i).refusal;
      if (refusal && wants_device(*refusal) && can_trace_live()) {
        refusals_.emplace(wanted[i].first, *refusal);
        left.push_back(wanted[i]);
        continue;
      }
      settle(wanted[i].first, std::move(results[i]), [&](const TraceRefusal& found) {
        return dry_misconduct(found, library_kernels_, why_not);
      });
    }
    return left;
  }

  void trace_live(const Wanted& wanted, bool alone) {
    std::vector<TraceResult> results;
    try {
      results = trace_on_gpu(wanted, alone);
    } catch (const Error& error) {
      settle_without_live(wanted, error);
      return;
    }
    isolation_ = results.front().isolation;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto& key = wanted[i].first;
      if (!alone) disturbed_.insert(key);
      settle(key, std::move(results[i]), [&](const TraceRefusal& found) {
        const auto dry = refusals_.find(key);
        if (dry != refusals_.end() && dry->second.kind == "needs_device" && !library_kernels_) {
          // The operator is forbidden, whatever came of it.
          return dry_misconduct(dry->second, library_kernels_, "");
        }
        return live_misconduct(found);
      });
    }
  }

  /// This machine cannot trace live: what a dry trace found has to do, where there was one. For a
  /// handler of `error`.
  void settle_without_live(const Wanted& wanted, const Error& error) {
    const bool all_dry = std::all_of(wanted.begin(), wanted.end(), [this](const auto& one) {
      return refusals_.contains(one.first);
    });
    if (error.code() == ErrorCode::cancelled || !all_dry) {
      throw;
    }
    live_ = false;
    for (const auto& [key, signature] : wanted) {
      known_[key].fault = dry_misconduct(refusals_.at(key), library_kernels_,
                                         fmt::format("tracing it there failed: {}", error.what()));
    }
  }

  template <class Judge>
  void settle(const Key& key, TraceResult&& result, const Judge& misconduct_of) {
    auto& planned = known_[key] = {};
    record_.duration_ms += result.seconds * 1e3;
    if (record_.log.empty()) {
      record_.log = result.log;
    }
    for (const auto& note : result.notes) log_once(note);
    if (!result.refusal) {
      planned.variants = std::move(result.variants);
      planned.sources = std::move(result.sources);
      return;
    }
    planned.fault = misconduct_of(*result.refusal);
    log_once(result.refusal->traceback);
  }

  void log_once(const std::string& text) {
    const bool fits = record_.log.size() + text.size() < log_bytes_;
    if (fits && record_.log.find(text) == std::string::npos) {
      record_.log += (record_.log.empty() ? "" : "\n") + text;
    }
  }

  const Options options_;
  const bool has_gpu_;
  const std::vector<std::string> outputs_;
  const bool library_kernels_;
  const std::size_t log_bytes_;
  /// Of this candidate's processes on the GPU, for the one verdict that this is for.
  const std::string builds_ = fmt::format("{:016x}{:016x}", secret_seed(), secret_seed());
  TraceRequest request_;
  mutable std::mutex mutex_;
  bool live_ = false;  ///< From the first call on that needed it.
  std::map<Key, Planned> known_;
  std::set<Key> disturbed_;               ///< What was traced beside other work on the GPU.
  std::map<Key, TraceRefusal> refusals_;  ///< Of dry traces, for what was traced live after them.
  std::optional<Isolation> isolation_;    ///< Of the last live trace.
  Compilation record_;
};

}  // namespace

std::shared_ptr<PlanSource> traced_plans(const Problem& problem, const Candidate& candidate,
                                         const std::string& target, const Options& options) {
  return std::make_shared<TracedPlans>(problem, candidate, target, options);
}

}  // namespace ouroboros::referee::device
