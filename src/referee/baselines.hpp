#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ouroboros/executor.hpp"
#include "ouroboros/problem.hpp"
#include "referee/race.hpp"

namespace ouroboros::referee {

/// What candidates are timed against in one cell. Eager mode and the problem's own baselines are
/// trusted: they run in one single-threaded thread, on the candidate's buffers. The other side of
/// a comparison is not, and has a sealed process.
class Baselines {
 public:
  /// Opens a sealed process for what was compiled.
  using Opener = std::function<std::unique_ptr<Session>(const ModuleImage& image)>;

  /// Prepares every baseline; one that fails to is kept with its reason.
  Baselines(const Problem& problem, const Tensors& inputs, const Tensors& outputs,
            const Opener& open);
  ~Baselines();
  Baselines(const Baselines&) = delete;
  Baselines& operator=(const Baselines&) = delete;

  /// Those to time. In a comparison eager mode is none of them.
  [[nodiscard]] const std::vector<Race::Entry>& entries() const noexcept { return entries_; }

  /// Whether what it computes is not known to be right.
  [[nodiscard]] bool is_sealed(std::size_t index) const;
  [[nodiscard]] bool is_eager(std::size_t index) const noexcept { return index + first_ == 0; }

  /// Strikes out a baseline.
  void withdraw(std::size_t index, std::string why);

  /// Runs a baseline once on what the buffers hold now. Throws `Error` where it fails.
  Replay run(std::size_t index);

  Replay run_eager();

  /// An empty call: what a hand-over costs.
  Replay nothing();

  /// What eager mode computed last.
  [[nodiscard]] const Tensors& eager_outputs() const noexcept;

  void pin(int cpu);

 private:
  struct State;
  void prepare(std::size_t number, const Opener& open);

  std::vector<Race::Entry> entries_;
  std::unique_ptr<State> state_;  // Before the session, whose thread uses it.
  std::unique_ptr<Session> session_;
  std::vector<std::unique_ptr<Session>> sealed_;  ///< By number; null for the trusted.
  std::size_t first_ = 0;  ///< Number of the first entry: all have one, eager mode 0.
};

}  // namespace ouroboros::referee
