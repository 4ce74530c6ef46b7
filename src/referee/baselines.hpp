#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ouroboros/executor.hpp"
#include "ouroboros/problem.hpp"
#include "referee/race.hpp"

namespace ouroboros::referee {

/// The trusted arms of one timed cell: eager mode and the problem's own baselines, all in one
/// single-threaded thread, on the candidate's buffers.
class Baselines {
 public:
  /// Prepares every baseline; one that fails to is kept with its reason.
  Baselines(const Problem& problem, const Tensors& inputs, const Tensors& outputs);
  ~Baselines();
  Baselines(const Baselines&) = delete;
  Baselines& operator=(const Baselines&) = delete;

  [[nodiscard]] const std::vector<Race::Entry>& entries() const noexcept { return entries_; }

  /// Runs a baseline once on what the buffers hold now.
  Replay run(std::size_t index);

  /// An empty call: what a hand-over costs.
  Replay nothing();

  /// What eager mode computed last.
  [[nodiscard]] const Tensors& eager_outputs() const noexcept;

  void pin(int cpu);

 private:
  struct State;
  std::vector<Race::Entry> entries_;
  std::unique_ptr<State> state_;  // Before the session, whose thread uses it.
  std::unique_ptr<Session> session_;
};

}  // namespace ouroboros::referee
