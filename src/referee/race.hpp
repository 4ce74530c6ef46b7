#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "judge/judge.hpp"
#include "ouroboros/referee.hpp"

namespace ouroboros::referee {

/// One timed cell on one set of physical pages: the arms, and blocks of samples.
///
/// A block visits every arm twice, in a random order and then in its mirror image. Each half has
/// fresh inputs that no arm has met, so that remembering earlier ones is worth nothing; within a
/// half all arms see the same inputs. Outputs are poisoned before every sample, and what a
/// candidate leaves there is compared with eager mode's result each time and with the oracle in
/// samples that are drawn by lot. Where the arms run is the business of the derived classes.
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

  /// Both samples of each arm in one block, in microseconds: by arm, then by half.
  using Block = std::vector<std::pair<double, double>>;

  /// Takes what the arms run on for this race alone and runs warm-up samples; call once, after the
  /// arms were added.
  virtual void warm_up() = 0;

  /// Runs every candidate once on inputs that mix all value families, at the timed shape and
  /// addresses, and checks the result in full. Not a sample. Its place among the blocks is the
  /// caller's secret.
  void probe();

  /// Runs one block. Afterwards `failure()` may say that a candidate misbehaved.
  Block run_block();

  struct Failure {
    Status status;
    Finding finding;
  };
  [[nodiscard]] const std::optional<Failure>& failure() const noexcept { return failure_; }

  /// What an empty call costs an arm.
  [[nodiscard]] virtual double handover_us() = 0;
  /// Whether nobody else times on what the arms run on.
  [[nodiscard]] virtual bool exclusive() const noexcept = 0;
  /// Guards of this kind of race that fired.
  [[nodiscard]] virtual std::vector<std::string> flags() const { return {}; }
  /// The autotune configuration that candidates run, in words; empty where there is no choice.
  [[nodiscard]] virtual std::string variant() const { return ""; }

  [[nodiscard]] std::int64_t bytes_min() const noexcept { return bytes_min_; }
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

  struct Result {
    std::size_t arm = 0;
    bool candidate = false;
    Tensors outputs;  ///< What the arm left in its last sample.
  };

  /// One sample of each arm in `order` on what `inputs()` holds now, in microseconds.
  /// Leaves every arm's outputs in `results()`. A candidate's misconduct goes to `fail`.
  virtual void run_arms(const std::vector<std::size_t>& order, std::uint64_t seed,
                        const std::function<void(std::size_t, double)>& sampled) = 0;

  /// One run of arm `arm` on what `inputs()` holds now, untimed. Leaves its outputs in `outputs()`.
  virtual void run_alone(std::size_t arm, std::uint64_t seed) = 0;

  [[nodiscard]] virtual const std::vector<Result>& results() const noexcept = 0;

  /// What eager mode makes of what `inputs()` holds; null where it cannot run.
  [[nodiscard]] virtual const Tensors* eager_outputs() = 0;

  /// Fresh inputs, then one sample of each arm in `order`.
  void run_half(const std::vector<std::size_t>& order, bool check_fully,
                const std::function<void(std::size_t, double)>& sampled);

  /// Puts inputs of its own into `inputs()`, lets `run` compute from them into `outputs()`, and
  /// says whether these are about right. For arms that are trusted to mean well, not to work:
  /// what is looked for is a computation that went wrong, not its rounding.
  [[nodiscard]] bool is_right(const std::function<void()>& run);

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
  /// Runs `draw`, which makes a case, on the account of `oracle_s`.
  judge::Case draw_case(const std::function<judge::Case()>& draw);
  void check_against_eager(const Tensors& eager, const Tensors& outputs);
  void check_against_oracle(const judge::Case& one, const Tensors& outputs);

  const Problem& problem_;
  const Options& options_;
  double oracle_s_ = 0.0;  // Before the model, whose making counts.
  judge::Case model_;
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  std::uint64_t probes_ = 0;
  std::vector<Call> calls_;
  Tensors inputs_;
  Tensors outputs_;
  std::vector<double> gross_error_;  ///< Of each output: no honest result is this far from eager's.
  std::unique_ptr<timing::BlockOrder> order_;
  std::optional<Failure> failure_;
  std::int64_t bytes_min_ = 0;
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
