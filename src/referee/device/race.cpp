#include "referee/race.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "ouroboros/error.hpp"
#include "referee/arena_tensors.hpp"
#include "referee/device/device.hpp"
#include "referee/device/gpu.hpp"
#include "referee/device/plan_source.hpp"
#include "referee/device/race_memory.hpp"

namespace ouroboros::referee::device {
namespace {

constexpr int warm_up_rounds = 3;

// Blocks that choose among autotune configurations. None of them is used again: the fastest of many
// noisy draws would look faster than it is.
constexpr int choosing_blocks = 12;

constexpr std::uint64_t choosing_purpose = 700;

/// More starved samples than this share are a finding about the machine, and said so.
constexpr double starved_bound = 0.01;

/// A race on a GPU: every arm is a launch plan, replayed by one executor on the same pages.
class DeviceRace final : public Race {
 public:
  /// `gpu`: held while the model is made on the device `shared`, empty where that is not done.
  DeviceRace(const Problem& problem, const Compiled& compiled, const judge::CaseSpec& spec,
             std::uint64_t seed, const Options& options, Context context,
             std::optional<at::Device> shared, std::unique_ptr<Gpu> gpu)
      : Race(problem, spec, seed, options, shared.value_or(at::kCPU)),
        context_(context),
        shared_(shared.has_value()),
        memory_(calls()[0], options, shared) {
    use(memory_.tensors().inputs, memory_.tensors().outputs);
    gpu.reset();  // Tracing needs no GPU and may take long.
    const PlanRequest request{spec.dtype, spec.axes, calls()[0].buffers};
    auto planned = std::move(audited_plans(*compiled.plans, problem, {request}).front());
    if (planned.fault) {
      fail(planned.fault->status, planned.fault->finding);
    }
    variants_ = std::move(planned.variants);
    const auto signature = signature_of(calls()[0].buffers);
    for (const auto& baseline : problem.baselines) {
      entries_.push_back({baseline.name, ""});
      plans_.emplace_back();
      if (!baseline.plan) {
        entries_.back().unavailable = "it has no plan for a GPU";
        continue;
      }
      try {
        const Gpu lease(options);  // Live traces run and tune kernels on it.
        plans_.back() = baseline.plan(signature);
        require_sound(plans_.back(), signature);
      } catch (const Error& error) {
        if (error.code() == ErrorCode::cancelled) throw;
        entries_.back().unavailable = error.what();
      } catch (const std::exception& error) {
        entries_.back().unavailable = error.what();
      }
    }
    if (!failure()) {
      try_baselines();
    }
  }

  std::size_t add_candidate() override { return add(true, 0); }
  std::size_t add_baseline(std::size_t index) override { return add(false, index); }
  [[nodiscard]] const std::vector<Entry>& baselines() const noexcept override { return entries_; }

  void warm_up() override {
    // Only now: tracing and tuning the baselines may have taken long.
    gpu_.emplace(this->options());
    if (context_ == Context::fresh) {
      gpu_->renew();
    }
    choose_variant();
    if (failure()) {
      return;
    }
    std::vector<LaunchPlan> plans;
    for (const auto& arm : arms_) {
      plans.push_back(arm.candidate ? variants_[chosen_] : plans_[arm.baseline]);
    }
    race_ = opened(std::move(plans));
    if (!race_) {
      return;
    }
    const auto everyone = all_arms(arms_.size());
    for (int round = 0; round < warm_up_rounds && !failure(); ++round) {
      run_half(everyone, round == 0, [](std::size_t, double) {});
    }
    starved_ = 0;
    timed_ = 0;
  }

  [[nodiscard]] double handover_us() override { return race_->calibrate().empty_launch_us; }
  [[nodiscard]] bool exclusive() const noexcept override { return gpu_ && gpu_->exclusive(); }
  [[nodiscard]] std::string variant() const override {
    return variants_.empty() ? "" : variants_[chosen_].variant;
  }

  [[nodiscard]] std::vector<std::string> flags() const override {
    std::vector<std::string> fired;
    if (static_cast<double>(starved_) > starved_bound * static_cast<double>(timed_)) {
      fired.push_back(fmt::format("starved:{}of{}", starved_, timed_));
    }
    if (!shared_) {
      fired.emplace_back("judged_on_host");
    }
    return fired;
  }

 private:
  struct Arm {
    bool candidate = false;
    std::size_t baseline = 0;
  };

  static std::vector<std::size_t> all_arms(std::size_t count) {
    std::vector<std::size_t> everyone(count);
    std::iota(everyone.begin(), everyone.end(), std::size_t{0});
    return everyone;
  }

  static void require_sound(const LaunchPlan& plan, const std::vector<PlanBuffer>& signature) {
    PlanRules rules;
    rules.signature = signature;
    const auto refusals = audit(plan, rules);
    if (!refusals.empty()) {
      throw Error(ErrorCode::unsupported, refusals.front().evidence);
    }
  }

  std::size_t add(bool candidate, std::size_t baseline) {
    results_.push_back({arms_.size(), candidate, clones(outputs())});
    arms_.push_back({candidate, baseline});
    return arms_.size() - 1;
  }

  /// Runs every baseline once, by itself: a plan that faults, or that computes something else than
  /// the reference, is no baseline, and must not speak against a candidate.
  void try_baselines() {
    Gpu gpu(options());
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      check_cancelled(options());
      if (!entries_[i].unavailable.empty()) {
        continue;
      }
      const auto race = memory_.open(gpu.executor(), {plans_[i]});
      auto replay = race->opening();
      const bool right = replay.outcome == Outcome::returned && is_right([&] {
                           upload(*race);
                           replay = race->run_block({0}).replay;
                           if (replay.outcome == Outcome::returned) race->download(0);
                         });
      if (replay.outcome != Outcome::returned) {
        entries_[i].unavailable = "its plan cannot be replayed: " + replay.evidence;
      } else if (!right) {
        entries_[i].unavailable = "its plan does not replay to what the reference computes";
      }
    }
  }

  /// A race of plans; null when a candidate's plan could not be loaded.
  std::unique_ptr<CudaRace> opened(std::vector<LaunchPlan> plans) {
    auto race = memory_.open(gpu_->executor(), std::move(plans));
    if (race->opening().outcome != Outcome::returned) {
      const auto [status, finding] = misconduct(race->opening(), "time");
      fail(status, finding);
      return nullptr;
    }
    return race;
  }

  void upload(CudaRace& race) const {
    memory_.settle();
    race.upload();
  }

  /// Runs all configurations against one another and keeps the fastest.
  void choose_variant() {
    if (failure() || variants_.size() < 2) {
      return;
    }
    const auto race = opened(variants_);
    if (!race) {
      return;
    }
    timing::BlockOrder order(variants_.size(), derive_seed(seed(), choosing_purpose));
    std::vector<std::vector<double>> times(variants_.size());
    upload(*race);
    for (int block = 0; block < choosing_blocks; ++block) {
      check_cancelled(options());
      const auto arms = order.next();
      const auto measured = race->run_block(arms);
      if (measured.replay.outcome != Outcome::returned) {
        const auto [status, finding] = misconduct(measured.replay, "time");
        return fail(status, finding);
      }
      for (std::size_t i = 0; i < arms.size(); ++i) {
        times[arms[i]].push_back(measured.samples[i].latency_us);
      }
    }
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < times.size(); ++i) {
      const double mean = timing::trimmed_mean(times[i], options().timing.trim).mean;
      if (mean < best) {
        best = mean;
        chosen_ = i;
      }
    }
  }

  void run_arms(const std::vector<std::size_t>& order, std::uint64_t,
                const std::function<void(std::size_t, double)>& sampled) override {
    upload(*race_);
    const auto block = race_->run_block(order);
    if (block.replay.outcome != Outcome::returned) {
      if (!arms_[block.arm].candidate) {
        throw Error(ErrorCode::executor_lost,
                    fmt::format("the baseline '{}' failed among the timed samples: {}",
                                entries_[arms_[block.arm].baseline].name, block.replay.evidence));
      }
      const auto [status, finding] = misconduct(block.replay, "time");
      return fail(status, finding);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      sampled(order[i], block.samples[i].latency_us);
      ++timed_;
      starved_ += block.samples[i].starved;
      if (arms_[order[i]].candidate) {
        count_sample();
      }
    }
    eager_.clear();
    for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
      const bool eager = !arms_[arm].candidate && entries_[arms_[arm].baseline].name == "eager";
      if (!arms_[arm].candidate && !eager) {
        continue;
      }
      memory_.settle();  // What was copied from where this copies to.
      race_->download(arm);
      auto& kept = results_[arm].outputs;
      for (std::size_t i = 0; i < outputs().size(); ++i) {
        copy_bytes(outputs()[i], kept[i]);
      }
      if (eager) {
        eager_ = kept;
      }
    }
  }

  void run_alone(std::size_t arm, std::uint64_t) override {
    upload(*race_);
    const auto block = race_->run_block({arm});
    if (block.replay.outcome != Outcome::returned) {
      const auto [status, finding] = misconduct(block.replay, "time");
      return fail(status, finding);
    }
    race_->download(arm);
  }

  [[nodiscard]] const std::vector<Result>& results() const noexcept override { return results_; }
  [[nodiscard]] const Tensors* eager_outputs() override {
    return eager_.empty() ? nullptr : &eager_;
  }

  Context context_;
  bool shared_;
  RaceMemory memory_;
  std::optional<Gpu> gpu_;  ///< From warm-up on. Before the race, which runs on it.
  std::vector<LaunchPlan> variants_;
  std::size_t chosen_ = 0;
  std::vector<Entry> entries_;
  std::vector<LaunchPlan> plans_;  ///< Of the baselines.
  std::vector<Arm> arms_;
  std::vector<Result> results_;
  std::unique_ptr<CudaRace> race_;
  Tensors eager_;
  std::int64_t timed_ = 0;
  std::int64_t starved_ = 0;
};

}  // namespace

std::unique_ptr<Race> make_race(const Problem& problem, const Compiled& compiled,
                                const judge::CaseSpec& cell, std::uint64_t seed,
                                const Options& options, Context context) {
  if (const auto shared = shared_device(options)) {
    try {
      return std::make_unique<DeviceRace>(problem, compiled, cell, seed, options, context, shared,
                                          std::make_unique<Gpu>(options));
    } catch (const judge::ReferenceFault&) {
      // A reference that knows the host alone, or is not deterministic on a GPU.
    } catch (const c10::Error&) {
      // LibTorch lacks an operator there, or memory.
    } catch (const Error& error) {
      if (error.code() != ErrorCode::out_of_memory) throw;
    }
  }
  return std::make_unique<DeviceRace>(problem, compiled, cell, seed, options, context, std::nullopt,
                                      nullptr);
}

}  // namespace ouroboros::referee::device
