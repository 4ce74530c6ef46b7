#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "executor/cuda/main/bracket.hpp"
#include "executor/cuda/main/handover.hpp"
#include "executor/cuda/main/local_memory.hpp"
#include "executor/cuda/main/memory.hpp"
#include "executor/cuda/main/places.hpp"
#include "executor/cuda/main/program.hpp"
#include "executor/cuda/main/seals.hpp"
#include "executor/cuda/main/stamps.hpp"
#include "ouroboros/executor.hpp"

namespace ouroboros::cuda {

/// Several plans of one signature that take turns on the same pages at the same addresses. There
/// are several sets of such pages; all arms of a block meet the same one.
class Race {
 public:
  struct Sample {
    double latency_us = 0;
    double flush_us = 0;
    double span_us = 0;
    double known_us = 0;  ///< What the events say of all that the stamps span.
    double clock_mhz = 0;
    bool starved = false;
    bool same_as_first = true;
  };
  struct Block {
    std::vector<Sample> samples;
    Submission submission = Submission::stream;
    Replay replay;                      ///< Anything but `returned` ended the block early.
    std::optional<std::size_t> arm;     ///< Which did that; empty where any may have.
    std::size_t code = 0;               ///< Which copies of the arms' code ran.
    std::optional<double> handover_us;  ///< What each run had in it besides: see Handover.
  };
  /// What to run: the arms in this order, on these pages.
  struct Round {
    std::size_t set = 0;
    std::vector<std::size_t> order;
    bool keep_last = false;  ///< The outputs of each arm's last run, not those of its first.
  };

  /// As in `CudaRaceOptions`.
  struct Setup {
    std::size_t padding = 0;
    std::size_t code_copies = 1;
    Cache cache = Cache::cold;
  };

  /// `sets`: the buffers of each set. Throws `LoadFailure`, and `Error{invalid_argument}` for plans
  /// of different signatures.
  Race(Device& device, std::unique_ptr<Exchange> arena,
       const std::vector<std::vector<ArenaBuffer>>& sets, std::vector<LaunchPlan> arms,
       const Setup& setup);

  /// How many of those that were asked for: a power of two.
  [[nodiscard]] std::size_t code_copies() const noexcept { return arms_.front().size(); }

  /// The first so many sets, at most.
  void upload(std::size_t sets);
  /// `chain`: how many runs, each on a set of its own, stand between the events.
  std::vector<Block> run(const std::vector<Round>& rounds, std::size_t chain, double seconds);
  void download(std::size_t arm, std::size_t sets);

 private:
  struct Turn;

  void load(std::vector<LaunchPlan> arms, std::size_t copies);
  void clear_local_memory();
  [[nodiscard]] std::vector<const LaunchPlan*> plans() const;
  [[nodiscard]] Program& program(std::size_t arm);
  void check(const std::vector<Round>& rounds, std::size_t chain) const;
  void prepare(std::size_t samples, std::size_t chain);
  Block run_round(const Round& round, Turn turn);
  void take_all(const Round& round, Turn turn, Block& block);
  void rehearse(const Turn& turn, Block& block);
  void enqueue(Program& program, std::size_t set, std::size_t arm);
  void wait(double seconds);
  Sample take(const Turn& turn);
  void measure(const Turn& turn, const std::vector<std::size_t>& sets);
  void put_aside(const Turn& turn, const std::vector<std::size_t>& sets);
  void read(std::vector<Block>& blocks);
  [[nodiscard]] std::span<const std::unique_ptr<Memory>> first(std::size_t sets) const;
  void look_for_damage(Replay& replay);

  Device& device_;
  std::unique_ptr<Range> padding_;
  std::unique_ptr<Exchange> arena_;
  std::vector<std::unique_ptr<Modules>> modules_;  ///< Of one program each: all lie elsewhere.
  std::vector<std::vector<Program>> arms_;         ///< By arm, then copy.
  std::unique_ptr<LocalScrub> local_;              ///< Where kernels have such memory.
  std::vector<std::unique_ptr<Memory>> sets_;
  std::unique_ptr<Stamps> stamps_;
  Canaries canaries_;
  std::unique_ptr<Seals> seals_;
  Bracket bracket_;
  std::unique_ptr<Handover> handover_;
  Places places_;
  std::size_t rounds_ = 0;    ///< That have been run: which copies are next.
  std::size_t uploaded_ = 0;  ///< So many sets have inputs.
};

}  // namespace ouroboros::cuda
