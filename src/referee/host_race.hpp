#pragma once

#include <span>

#include "referee/baselines.hpp"
#include "referee/processor_lease.hpp"
#include "referee/race.hpp"

namespace ouroboros::referee {

/// A race on the host: candidates in sealed processes, trusted baselines in a thread of this one,
/// all on one processor and on the arena's own pages.
class HostRace final : public Race {
 public:
  HostRace(const Problem& problem, const Compiled& compiled, const judge::CaseSpec& cell,
           std::uint64_t seed, const Options& options);

  std::size_t add_candidate() override;
  std::size_t add_baseline(std::size_t index) override;
  [[nodiscard]] const std::vector<Entry>& baselines() const noexcept override {
    return baselines_.entries();
  }
  void warm_up() override;
  [[nodiscard]] bool exclusive() const noexcept override { return lease_ && lease_->exclusive(); }

 private:
  std::vector<timing::Block> run_some(std::size_t most) override;
  void run_alone(std::size_t arm, std::uint64_t seed) override;

  /// Fresh inputs, then one sample of each arm in `order`.
  void run_half(std::span<const std::size_t> order, bool closely,
                std::vector<timing::Sample>& samples);
  void run_arms(std::span<const std::size_t> order, std::uint64_t seed,
                std::vector<timing::Sample>& samples);

  /// What eager mode makes of what the arena holds.
  const Tensors& eager_outputs();

  std::size_t add(std::unique_ptr<Session> session, std::size_t baseline);

  /// What an empty call costs.
  double measure_handover();

  struct Arm {
    std::unique_ptr<Session> session;  ///< Of a candidate; empty for a baseline.
    std::size_t baseline = 0;
    Tensors outputs;  ///< What it left in its last sample.
  };

  std::shared_ptr<const Arena> lay_out();
  [[nodiscard]] std::unique_ptr<Session> opened(const ModuleImage& image) const;
  void try_rival(std::size_t index);

  const Compiled& compiled_;
  std::shared_ptr<const Arena> arena_;
  Baselines baselines_;
  std::vector<Arm> arms_;
  bool eager_ran_ = false;               ///< On the inputs that the arena holds now.
  std::optional<ProcessorLease> lease_;  ///< From warm-up on: preparing baselines may take long.
};

}  // namespace ouroboros::referee
