#include "referee/race.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

#include "ouroboros/error.hpp"
#include "referee/arena_tensors.hpp"
#include "referee/device/device.hpp"
#include "referee/device/gpu.hpp"
#include "referee/device/kernel_uses.hpp"
#include "referee/device/plan_source.hpp"
#include "referee/device/race_memory.hpp"

namespace ouroboros::referee::device {
namespace {

/// Sets of pages and inputs: as many as the blocks of a first look.
constexpr std::size_t most_sets = 20;

/// Runs of a chain. What a launch costs once, and is not known well, is a small part of so many.
constexpr std::size_t chain_length = 16;

/// Runs that take less than this are measured in chains: launch cost, and the clock's tick, are no
/// small part of one run. docs/timing.md has the measurements.
constexpr double chain_below_us = 12.0;

/// Subtracting what a launch adds, or the gap between two kernels, multiplies the noise. What is no
/// longer than twice it is left as it was measured.
constexpr double least_over_offset = 2.0;

/// A sample that is shorter than so many times it was disturbed: no ratio can be made of that.
constexpr double too_short = 1.5;

/// Of the memory that sets may take: a share of the GPU's, and so much in all. Where others hold
/// most of it there are fewer sets: see `with_memory_for`.
constexpr std::uint64_t memory_share = 4;
constexpr std::uint64_t most_set_bytes = std::uint64_t{8} << 30;

/// On the host every set is copied to the device and back.
constexpr std::size_t most_sets_on_host = 4;

constexpr std::size_t warm_up_blocks = 4;
constexpr std::size_t least_handovers = 4;  ///< What a trimmed mean needs.
/// A block whose launch was starved says nothing of it. So many are run until enough do.
constexpr std::size_t most_settling = 64;
constexpr double warm_up_ms = 2.0;  ///< And at least so long on the device.

/// Of a chain's sets, about so many are compared with eager mode's result.
constexpr std::size_t looked_at = 3;

/// Where a race in a fresh context has its memory: at most this far from where it would lie.
constexpr std::size_t most_padding = std::size_t{64} << 20;
constexpr std::uint64_t padding_purpose = 710;

/// Of each arm's code: where it lies moves kernels of a few microseconds by half a per cent.
constexpr std::size_t many_code_copies = 16;

// Blocks that choose among autotune configurations. None of them is used again: the fastest of many
// noisy draws would look faster than it is.
constexpr int choosing_blocks = 12;

constexpr std::uint64_t choosing_purpose = 700;

constexpr double interval_alpha = 0.05;

/// Who shares a GPU doubles what a flush takes; who keeps lines in the cache halves it.
constexpr double flush_tolerance = 0.35;

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
        memory_(calls()[0], options, shared, sets_for(calls()[0], problem, options, shared)) {
    sets_ = memory_.sets();
    use(memory_.tensors(0).inputs, memory_.tensors(0).outputs);
    gpu.reset();  // Tracing needs no GPU and may take long.
    const PlanRequest request{spec.dtype, spec.axes, calls()[0].buffers, true};
    auto planned = std::move(audited_plans(*compiled.plans, problem, {request}).front());
    if (planned.fault) {
      fail(planned.fault->status, planned.fault->finding);
    }
    variants_ = std::move(planned.variants);
    const auto signature = signature_of(calls()[0].buffers);
    for (const auto& baseline : problem.baselines) {
      entries_.push_back({baseline.name, ""});
      plans_.emplace_back();
      if (!baseline.plan && !baseline.variants) {
        entries_.back().unavailable = "it has no plan for a GPU";
        continue;
      }
      try {
        if (baseline.variants) {
          plans_.back() = baseline.variants(signature);
        } else {
          const Gpu lease(options);  // Live traces run and tune kernels on it.
          plans_.back() = {baseline.plan(signature)};
        }
        for (const auto& plan : plans_.back()) {
          require_sound(plan, signature);
        }
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
    chosen_ = fastest(variants_);
    std::vector<LaunchPlan> plans;
    for (std::size_t arm = 0; arm < arms(); ++arm) {
      const auto& all = plans_of(arm);
      plans.push_back(all[is_candidate(arm) ? chosen_ : fastest(all)]);
      kernels_.push_back(kernels_of(plans.back()));
    }
    if (failure()) {
      return;
    }
    race_ = with_memory_for(sets_, [&] {
      return opened(plans, {0, sets_, padding(), this->options().cache, wanted_copies()});
    });
    if (!race_) {
      return;
    }
    std::vector<timing::Block> blocks;
    while (!failure() && (blocks.size() < warm_up_blocks || gpu_ms_ < warm_up_ms ||
                          (lacks_handovers() && blocks.size() < most_settling))) {
      const auto some = run_some(warm_up_blocks);
      blocks.insert(blocks.end(), some.begin(), some.end());
    }
    if (!failure()) {
      choose_method(blocks);
    }
  }

  void retire(std::size_t arm) override {
    // Without a device of LibTorch's nobody else computes so fast what candidates are held against.
    if (shared_ || !is_eager(arm)) {
      Race::retire(arm);
    }
  }

  [[nodiscard]] std::string submission() const override {
    return std::string(to_string(submission_));
  }
  [[nodiscard]] std::vector<KernelUse> kernels(std::size_t arm) const override {
    return kernels_.at(arm);
  }
  [[nodiscard]] std::size_t code_copies() const noexcept override {
    return race_ ? race_->code_copies() : 0;
  }
  [[nodiscard]] double gpu_ms() const noexcept override { return gpu_ms_; }
  [[nodiscard]] std::optional<GpuState> gpu_state() override { return race_->state(); }
  [[nodiscard]] bool exclusive() const noexcept override { return gpu_ && gpu_->exclusive(); }
  [[nodiscard]] std::string variant() const override {
    return variants_.empty() ? "" : variants_[chosen_].variant;
  }

  [[nodiscard]] std::vector<std::string> flags() const override {
    std::vector<std::string> fired;
    if (!shared_) {
      fired.emplace_back("judged_on_host");
    }
    if (method().offset_us.estimate == 0) {
      fired.emplace_back("launch_bound");
    }
    if (unstable_ > 0) {
      fired.emplace_back("not_deterministic");
    }
    return fired;
  }

 private:
  /// How many sets there is memory for. Each is in the arena and in the executor, where every arm's
  /// outputs are kept besides.
  static std::size_t sets_for(const Call& call, const Problem& problem, const Options& options,
                              std::optional<at::Device> shared) {
    const auto arms = problem.baselines.size() + 2;
    std::uint64_t bytes = 0;
    for (const auto& buffer : call.buffers) {
      bytes += buffer.bytes() * (buffer.role == BufferRole::output ? 3 + arms : 2);
    }
    const auto room = std::min(Gpu::describe(options).memory_bytes / memory_share, most_set_bytes);
    const auto most = shared ? most_sets : most_sets_on_host;
    return std::clamp<std::size_t>(room / std::max<std::uint64_t>(bytes, 1), 1, most);
  }

  static void require_sound(const LaunchPlan& plan, const std::vector<PlanBuffer>& signature) {
    PlanRules rules;
    rules.signature = signature;
    const auto refusals = audit(plan, rules);
    if (!refusals.empty()) {
      throw Error(ErrorCode::unsupported, refusals.front().evidence);
    }
  }

  [[nodiscard]] bool is_eager(std::size_t arm) const {
    return !is_candidate(arm) && entries_[baseline_of_[arm]].name == "eager";
  }

  std::size_t add(bool candidate, std::size_t baseline) {
    baseline_of_.push_back(baseline);
    return enter(candidate);
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
      const auto race = memory_.open(gpu.executor(), {plans_[i].front()});
      auto replay = race->opening();
      const bool right = replay.outcome == Outcome::returned && is_right([&] {
                           upload(*race, 1);
                           replay = race->run_block({0}).replay;
                           if (replay.outcome == Outcome::returned) race->download(0, 1);
                         });
      if (replay.outcome != Outcome::returned) {
        entries_[i].unavailable = "its plan cannot be replayed: " + replay.evidence;
      } else if (!right) {
        entries_[i].unavailable = "its plan does not replay to what the reference computes";
      }
    }
  }

  /// A race of plans; null when a candidate's plan could not be loaded.
  std::unique_ptr<CudaRace> opened(std::vector<LaunchPlan> plans, const CudaRaceOptions& where) {
    auto race = memory_.open(gpu_->executor(), std::move(plans), where);
    if (race->opening().outcome != Outcome::returned) {
      const auto [status, finding] = misconduct(race->opening(), "time");
      fail(status, finding);
      return nullptr;
    }
    return race;
  }

  /// Runs in fresh contexts differ in where their memory lies, as runs of a program do.
  [[nodiscard]] std::size_t padding() const {
    return context_ == Context::fresh ? derive_seed(seed(), padding_purpose) % most_padding : 0;
  }

  /// Many where figures are to be published, and what they cost is no matter.
  [[nodiscard]] std::size_t wanted_copies() const {
    const bool published = options().mode == timing::Mode::report || context_ == Context::fresh;
    return published ? many_code_copies : 1;
  }

  void upload(CudaRace& race, std::size_t sets) const {
    memory_.settle();
    race.upload(sets);
  }

  /// Runs all configurations of one arm against one another. Which is the fastest.
  std::size_t fastest(const std::vector<LaunchPlan>& variants) {
    if (failure() || variants.size() < 2) {
      return 0;
    }
    const auto race = opened(variants, {});
    if (!race) {
      return 0;
    }
    timing::BlockOrder order(variants.size(), derive_seed(seed(), choosing_purpose));
    std::vector<std::vector<double>> times(variants.size());
    upload(*race, 1);
    for (int block = 0; block < choosing_blocks; ++block) {
      check_cancelled(options());
      const auto arms = order.next();
      const auto measured = race->run_block(arms);
      if (measured.replay.outcome != Outcome::returned) {
        const auto [status, finding] = misconduct(measured.replay, "time");
        fail(status, finding);
        return 0;
      }
      for (std::size_t i = 0; i < arms.size(); ++i) {
        times[arms[i]].push_back(measured.samples[i].latency_us);
      }
    }
    std::vector<double> means;
    for (const auto& one : times) {
      means.push_back(timing::trimmed_mean(one, options().timing.trim).mean);
    }
    return static_cast<std::size_t>(std::min_element(means.begin(), means.end()) - means.begin());
  }

  /// Decides how samples are taken, from samples that are not used again.
  void choose_method(const std::vector<timing::Block>& blocks) {
    const auto& timing = options().timing;
    double shortest = std::numeric_limits<double>::infinity();
    Method method;
    for (std::size_t arm = 0; arm < arms(); ++arm) {
      const auto latency = timing::latency(blocks, arm, 0.0, timing.trim, interval_alpha);
      shortest = std::min(shortest, latency.estimate);
      if (is_candidate(arm) && method.bracket_us.estimate == 0) {
        method.bracket_us = latency;
      }
    }
    method.same_inputs = true;
    // Learnt: it depends on what lies in this process. On an H200 it varies by a tenth.
    method.bands.flush_us = 0;
    method.bands.flush_tolerance = flush_tolerance;
    const auto launch = handover();
    method.handover_us = launch.estimate;
    if (wants_chain(shortest)) {
      method.estimator = "chain";
      chain_ = chain_length;
    } else if (shortest >= least_over_offset * launch.estimate) {
      method.estimator = "bracket";
      method.offset_us = launch;
    } else {
      method.estimator = "raw";
    }
    set_method(std::move(method));
    handovers_us_.clear();
    if (chained()) {
      settle_chains(shortest - launch.estimate);
    }
  }

  /// `shortest_us`: of the arms. Calls of a chain have pages that none before them had.
  [[nodiscard]] bool wants_chain(double shortest_us) const {
    if (options().cache != Cache::rotated) {
      return options().cache == Cache::cold && shortest_us < chain_below_us &&
             sets_ >= chain_length;
    }
    if (sets_ < chain_length) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("calls with rotated addresses take {} sets of inputs and outputs on "
                              "the GPU, and there is room for {}: judge smaller shapes, or with "
                              "a cold cache",
                              chain_length, sets_));
    }
    return true;
  }

  /// Runs chains, untimed, and decides whether what each call has in it besides is to be taken off.
  /// `own_us`: what the shortest arm takes without.
  void settle_chains(double own_us) {
    // Code that was just loaded is slow at first.
    const auto blocks = settle(std::max(code_copies(), least_handovers));
    // Then launches go over to the last way of submission there is.
    if (!failure() && starved(blocks.back())) {
      handovers_us_.clear();
      settle(least_handovers);
    }
    if (failure()) {
      return;
    }
    auto settled = method();
    const auto each = handover();
    settled.handover_us = each.estimate;
    if (own_us + each.estimate >= least_over_offset * each.estimate) {
      settled.offset_us = each;
    }
    set_method(std::move(settled));
    handovers_us_.clear();
  }

  std::vector<timing::Block> settle(std::size_t least) {
    std::vector<timing::Block> blocks;
    while (!failure() &&
           (blocks.size() < least || (lacks_handovers() && blocks.size() < most_settling))) {
      const auto some = run_some(1);
      blocks.insert(blocks.end(), some.begin(), some.end());
    }
    return blocks;
  }

  [[nodiscard]] bool chained() const noexcept { return chain_ > 1; }

  static bool starved(const timing::Block& block) {
    return std::ranges::any_of(block.samples, &timing::Sample::starved);
  }

  [[nodiscard]] bool lacks_handovers() const noexcept {
    return handovers_us_.size() < least_handovers;
  }

  /// What every run has in it that is none of the arm's work, as blocks found it lately.
  [[nodiscard]] timing::Interval handover() const {
    if (lacks_handovers()) {
      throw Error(
          ErrorCode::unstable,
          "this GPU cannot be kept supplied with work, so that what a launch adds cannot be "
          "measured");
    }
    return timing::trimmed_interval(handovers_us_, options().timing.trim, interval_alpha);
  }

  /// What is taken off follows what the blocks that are timed found themselves.
  void refine_offset() {
    if (method().offset_us.estimate == 0 || lacks_handovers()) {
      return;
    }
    auto refined = method();
    refined.offset_us = handover();
    refined.handover_us = refined.offset_us.estimate;
    set_method(std::move(refined));
  }

  std::vector<timing::Block> run_some(std::size_t most) override {
    const std::size_t count = chained() ? 1 : std::min(most, sets_);
    const std::size_t used = chained() ? chain_ : count;
    std::vector<Tensors> inputs;
    for (std::size_t set = 0; set < used; ++set) {
      inputs.push_back(memory_.tensors(set).inputs);
    }
    const auto drawn = draw_inputs(inputs);
    std::vector<CudaRound> rounds;
    for (std::size_t i = 0; i < count; ++i) {
      // Which of its two runs an arm will be judged by, it cannot know.
      rounds.push_back({i, next_order(), drawn[i] % 2 != 0});
    }
    upload(*race_, used);
    auto blocks = traced(rounds, race_->run(rounds, chain_));
    refine_offset();
    if (!failure()) {
      check_sets(drawn);
    }
    return blocks;
  }

  /// What the executor measured, as the timing library has it. Ends where an arm failed.
  std::vector<timing::Block> traced(const std::vector<CudaRound>& rounds,
                                    const std::vector<CudaBlock>& measured) {
    std::vector<timing::Block> blocks;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const auto& block = measured[i];
      if (block.replay.outcome != Outcome::returned) {
        blame(block);
        return blocks;
      }
      submission_ = block.submission;
      gpu_ms_ += std::chrono::duration<double, std::milli>(block.replay.wall).count();
      auto& recorded = blocks.emplace_back();
      recorded.set = rounds[i].set;
      recorded.code = block.code;
      if (block.handover_us) {
        handovers_us_.push_back(*block.handover_us);
      }
      for (std::size_t k = 0; k < block.samples.size(); ++k) {
        const auto& one = block.samples[k];
        const auto arm = rounds[i].order[k];
        const bool no_time = one.latency_us <= too_short * method().offset_us.high;
        recorded.samples.push_back({arm, one.latency_us, one.flush_us, one.span_us, one.clock_mhz,
                                    one.starved || no_time});
        unstable_ += is_candidate(arm) && !one.same_as_first;
        if (is_candidate(arm)) {
          count_sample();
        }
      }
    }
    return blocks;
  }

  void blame(const CudaBlock& block) {
    if (block.arm && !is_candidate(*block.arm)) {
      throw Error(ErrorCode::executor_lost,
                  fmt::format("the baseline '{}' failed among the timed samples: {}",
                              entries_[baseline_of_[*block.arm]].name, block.replay.evidence));
    }
    const auto [status, finding] = misconduct(block.replay, "time");
    fail(status, finding);
  }

  /// Checks what candidates left on the sets that were drawn: on all of them, or on some of a
  /// chain's. The last one is always looked at closely.
  void check_sets(const std::vector<std::uint64_t>& drawn) {
    std::vector<std::size_t> sets;
    for (std::size_t set = 0; set < drawn.size(); ++set) {
      // Which of a chain's are looked at follows from a number that no candidate knows.
      if (!chained() || set + 1 == drawn.size() || drawn[set] % drawn.size() < looked_at) {
        sets.push_back(set);
      }
    }
    std::vector<bool> closely;
    for (const auto set : sets) {
      closely.push_back(lot() || (!chained() && set + 1 == drawn.size()));
    }
    std::vector<Tensors> right;
    for (std::size_t arm = 0; arm < arms(); ++arm) {
      if (is_eager(arm) && !is_retired(arm)) {
        fetch(arm, drawn.size());
        for (const auto set : sets) {
          right.push_back(clones(memory_.tensors(set).outputs));
        }
      }
    }
    for (std::size_t i = right.size(); i < sets.size(); ++i) {
      right.push_back(expected(memory_.tensors(sets[i]).inputs));
    }
    for (std::size_t arm = 0; arm < arms() && !failure(); ++arm) {
      if (!is_candidate(arm)) {
        continue;
      }
      fetch(arm, drawn.size());
      for (std::size_t i = 0; i < sets.size(); ++i) {
        check_outputs(drawn[sets[i]], right[i], memory_.tensors(sets[i]).outputs, closely[i]);
      }
    }
  }

  /// Brings what an arm left on so many sets.
  void fetch(std::size_t arm, std::size_t sets) {
    memory_.settle();  // What was copied from where this copies to.
    race_->download(arm, sets);
  }

  void run_alone(std::size_t arm, std::uint64_t) override {
    upload(*race_, 1);
    const auto block = race_->run_block({arm});
    if (block.replay.outcome != Outcome::returned) {
      const auto [status, finding] = misconduct(block.replay, "time");
      return fail(status, finding);
    }
    race_->download(arm, 1);
  }

  [[nodiscard]] const std::vector<LaunchPlan>& plans_of(std::size_t arm) const {
    return is_candidate(arm) ? variants_ : plans_[baseline_of_[arm]];
  }

  Context context_;
  bool shared_;
  RaceMemory memory_;
  std::size_t sets_ = 1;    ///< Of them that the executor has memory for.
  std::optional<Gpu> gpu_;  ///< From warm-up on. Before the race, which runs on it.
  std::vector<LaunchPlan> variants_;
  std::size_t chosen_ = 0;
  std::vector<std::vector<KernelUse>> kernels_;  ///< Of each arm, as it is timed.
  std::vector<Entry> entries_;
  std::vector<std::vector<LaunchPlan>> plans_;  ///< Of the baselines: their configurations.
  std::vector<std::size_t> baseline_of_;        ///< Of each arm, where it is one.
  std::unique_ptr<CudaRace> race_;
  std::size_t chain_ = 1;  ///< Calls of which a sample is the mean.
  Submission submission_ = Submission::stream;
  std::vector<double> handovers_us_;  ///< Of the blocks since the method was decided.
  double gpu_ms_ = 0;
  std::int64_t unstable_ = 0;  ///< Samples whose outputs were not those of the arm's first.
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
