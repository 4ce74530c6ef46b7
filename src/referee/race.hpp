#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "judge/judge.hpp"
#include "ouroboros/referee.hpp"
#include "ouroboros/trace.hpp"

namespace ouroboros::referee {

/// One timed cell: the arms, and blocks of samples.
///
/// A block visits every arm twice, in a random order and then in its mirror image, on inputs that
/// are new in each block, on the host in each half of one. Outputs are poisoned before every
/// sample, and what a candidate leaves there is compared with eager mode's result and, in samples
/// that are drawn by lot, with the oracle. Where the arms run, and on which pages, is the business
/// of the derived classes.
class Race {
 public:
  virtual ~Race();
  Race(const Race&) = delete;
  Race& operator=(const Race&) = delete;

  /// Adds an arm: a fresh copy of the candidate. Returns its number.
  virtual std::size_t add_candidate() = 0;

  /// Adds an arm: a baseline by its number in `baselines()`. Returns its number.
  virtual std::size_t add_baseline(std::size_t index) = 0;

  struct Entry {
    std::string name;
    std::string unavailable;  ///< Why; empty when it can run.
  };
  [[nodiscard]] virtual const std::vector<Entry>& baselines() const noexcept = 0;

  /// Takes what the arms run on for this race alone and runs warm-up samples; call once, after the
  /// arms were added.
  virtual void warm_up() = 0;

  /// Nobody times this race: what is wrong in it is as wrong as in the sweep.
  void leave_untimed() noexcept { timed_ = false; }

  /// Runs every candidate once at the timed shape and addresses, and checks the result in full. Not
  /// a sample. The inputs mix all value families, are ordinary but for a few rows and numbers, or
  /// of one family that is not: the seed says which. Its place among the blocks is the caller's
  /// secret.
  void probe();

  /// The same with one number throughout, which is another in each input; nothing where the
  /// reference makes infinity or NaN of that.
  void probe_constant();

  /// Runs up to `most` blocks, at least one. Afterwards `failure()` may say that a candidate
  /// misbehaved.
  std::vector<timing::Block> run_blocks(std::size_t most);

  /// Leaves a baseline out of all further blocks: what is said of it is decided. It may stay where
  /// others need what it computes.
  virtual void retire(std::size_t arm);

  struct Failure {
    Status status;
    Finding finding;
  };
  [[nodiscard]] const std::optional<Failure>& failure() const noexcept { return failure_; }

  /// How blocks are measured.
  struct Method {
    std::string estimator;       ///< See TimedCell.
    double handover_us = 0.0;    ///< What an empty call or a launch costs an arm.
    timing::Interval offset_us;  ///< What is to be subtracted from every sample for it.
    timing::Bands bands;         ///< For blocks that count.
    timing::Interval
        bracket_us;            ///< Of the first candidate, a whole launch; where samples are not.
    bool same_inputs = false;  ///< Whether both halves of a block have the same inputs and pages.
  };
  /// Decided in warm-up.
  [[nodiscard]] const Method& method() const noexcept { return method_; }

  /// How launches reach the device, so far: see TimedCell. Empty on the host.
  [[nodiscard]] virtual std::string submission() const { return ""; }

  /// Whether nobody else times on what the arms run on.
  [[nodiscard]] virtual bool exclusive() const noexcept = 0;
  /// Guards of this kind of race that fired.
  [[nodiscard]] virtual std::vector<std::string> flags() const { return {}; }
  /// The autotune configuration that candidates run, in words; empty where there is no choice.
  [[nodiscard]] virtual std::string variant() const { return ""; }
  /// What an arm launches on a GPU; empty on the host.
  [[nodiscard]] virtual std::vector<KernelUse> kernels(std::size_t) const { return {}; }
  /// How many copies of each arm's code take turns; 0 on the host.
  [[nodiscard]] virtual std::size_t code_copies() const noexcept { return 0; }
  /// Clocks and power of the GPU, after warm-up; empty on the host.
  [[nodiscard]] virtual std::optional<GpuState> gpu_state() { return std::nullopt; }
  /// Time that blocks took on a GPU.
  [[nodiscard]] virtual double gpu_ms() const noexcept { return 0.0; }

  /// Compulsory traffic: inputs and outputs once each.
  [[nodiscard]] std::int64_t bytes_min() const noexcept { return bytes_read_ + bytes_written_; }
  [[nodiscard]] std::int64_t bytes_read() const noexcept { return bytes_read_; }
  [[nodiscard]] std::int64_t bytes_written() const noexcept { return bytes_written_; }
  [[nodiscard]] std::int64_t samples_checked() const noexcept { return samples_checked_; }
  [[nodiscard]] std::int64_t samples_total() const noexcept { return samples_total_; }
  /// Wall time that went into references, oracles and tolerances.
  [[nodiscard]] double oracle_s() const noexcept { return oracle_s_; }

 protected:
  /// Inputs, oracles and comparisons are made on the device `where`.
  Race(const Problem& problem, const judge::CaseSpec& cell, std::uint64_t seed,
       const Options& options, at::Device where = at::kCPU);

  /// Takes the memory that arms read and write, as tensors for `calls()[0]`, and puts the model's
  /// inputs into it. Call once, first.
  void use(Tensors inputs, Tensors outputs);

  /// Registers an arm. Returns its number.
  std::size_t enter(bool candidate);
  [[nodiscard]] std::size_t arms() const noexcept { return candidates_.size(); }
  [[nodiscard]] bool is_candidate(std::size_t arm) const { return candidates_.at(arm); }
  [[nodiscard]] bool is_retired(std::size_t arm) const { return retired_.contains(arm); }

  /// What `run_blocks` does, but for cancelling.
  virtual std::vector<timing::Block> run_some(std::size_t most) = 0;

  /// One run of arm `arm` on what `inputs()` holds now, untimed. Leaves its outputs in `outputs()`.
  virtual void run_alone(std::size_t arm, std::uint64_t seed) = 0;

  /// The arms of the next block.
  [[nodiscard]] std::vector<std::size_t> next_order();

  /// Puts fresh inputs into each of these. Returns numbers by which `check_outputs` knows them.
  std::vector<std::uint64_t> draw_inputs(std::span<const Tensors> sets);

  /// Whether the lot falls on the next sample: a candidate cannot know which of its results will be
  /// looked at closely.
  [[nodiscard]] bool lot();

  /// What the reference makes of inputs.
  [[nodiscard]] Tensors expected(const Tensors& inputs) const;

  /// Checks what a candidate left: against what eager mode or the reference made of the same
  /// inputs, and with `closely`, or where it is far from that, against the oracle. Misconduct goes
  /// to `fail`.
  void check_outputs(std::uint64_t drawn, const Tensors& expected, const Tensors& outputs,
                     bool closely);

  /// Puts inputs of its own into `inputs()`, lets `run` compute from them into `outputs()`, and
  /// says whether these are about right. For arms that are trusted to mean well, not to work:
  /// what is looked for is a computation that went wrong, not its rounding.
  [[nodiscard]] bool is_right(const std::function<void()>& run);

  void set_method(Method method) { method_ = std::move(method); }
  void count_sample() noexcept { ++samples_total_; }
  void fail(Status status, Finding finding);

  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] const std::vector<Call>& calls() const noexcept { return calls_; }
  [[nodiscard]] const Tensors& inputs() const noexcept { return inputs_; }
  [[nodiscard]] const Tensors& outputs() const noexcept { return outputs_; }
  [[nodiscard]] const judge::CaseSpec& cell() const noexcept { return model_.spec; }

 private:
  void probe_with(const std::string& family);
  [[nodiscard]] std::uint64_t probe_seed() const;
  /// Runs `draw`, which makes a case, on the account of `oracle_s`.
  judge::Case draw_case(const std::function<judge::Case()>& draw);
  [[nodiscard]] bool is_near(const Tensors& expected, const Tensors& outputs) const;
  [[nodiscard]] CaseResult compared(const judge::Case& one, const Tensors& outputs) const;
  void check_against_oracle(const judge::Case& one, const Tensors& outputs);

  const Problem& problem_;
  const Options& options_;
  double oracle_s_ = 0.0;  // Before the model, whose making counts.
  judge::Case model_;
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  std::uint64_t lots_ = 0;
  std::uint64_t probes_ = 0;
  std::vector<Call> calls_;
  Tensors inputs_;
  Tensors outputs_;
  std::vector<bool> candidates_;  ///< Of each arm: whether it is one.
  std::set<std::size_t> retired_;
  Method method_;
  std::vector<double> gross_error_;  ///< Of each output: no rounding is this far from eager's.
  std::unique_ptr<timing::BlockOrder> order_;
  std::optional<Failure> failure_;
  bool timed_ = true;
  std::int64_t bytes_read_ = 0;
  std::int64_t bytes_written_ = 0;
  std::int64_t samples_checked_ = 0;
  std::int64_t samples_total_ = 0;
};

/// What a race on a GPU runs in. On the host candidates always get fresh processes.
enum class Context : std::uint8_t {
  reused,  ///< One that was cleaned after the last candidate.
  fresh,   ///< One in which nothing ever ran.
};

/// The race for a candidate: on the host or on a GPU, as its language wants.
[[nodiscard]] std::unique_ptr<Race> make_race(const Problem& problem, const Compiled& compiled,
                                              const judge::CaseSpec& cell, std::uint64_t seed,
                                              const Options& options,
                                              Context context = Context::reused);

}  // namespace ouroboros::referee
