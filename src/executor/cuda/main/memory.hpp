#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "executor/cuda/main/canaries.hpp"
#include "executor/cuda/main/exchange.hpp"
#include "executor/cuda/main/kernels.hpp"
#include "executor/cuda/main/range.hpp"
#include "executor/cuda/main/seals.hpp"
#include "ouroboros/launch_plan.hpp"

namespace ouroboros::cuda {

/// The device memory of one call, for one plan or for several that take turns.
///
/// The arena's pages lie at one end of a range, all of them, so that the arena's slack is the
/// device's slack too; what is left of the range holds a canary.
class Memory {
 public:
  /// `plans` have the same inputs and outputs, which are the call's `buffers`. Throws
  /// `std::invalid_argument` where they are not.
  Memory(Device& device, Exchange& arena, const std::vector<ArenaBuffer>& buffers,
         const std::vector<const LaunchPlan*>& plans, bool high);

  /// Where the buffers of plan number `plan` begin.
  [[nodiscard]] std::vector<Address> addresses(std::size_t plan) const;

  /// Fills all that is no element with a fresh pattern, and scratch with another, of numbers at the
  /// high end; copies the arena's pages here, and state; closes the inputs.
  void upload();

  /// The parts of `upload`, for several memories at once. Nothing may be running before the first
  /// and before the last; the second only enqueues, between the arena's `begin` and `finish`.
  void open_inputs();
  void copy_in();
  void close_inputs();

  /// Copies the outputs' pages to the arena.
  void download() const;

  /// Enqueues a new poison, now NaN and now numbers, for outputs' elements and scratch, and state
  /// as it was.
  void reset(std::size_t plan) const;

  /// Enqueues a read of every page, so that a kernel that comes next finds addresses translated.
  void touch() const;

  /// What lies around the buffers of plan number `plan`, and may not be written.
  [[nodiscard]] std::vector<Canary> canaries(std::size_t plan) const;

  /// Makes memory for copies of the outputs.
  void make_room_for_outputs(std::size_t copies);
  /// Enqueues a copy of the outputs' elements to copy number `copy`, under seals.
  void keep_outputs(std::size_t copy, Seals& seals) const;
  /// Enqueues a comparison with them.
  void compare_outputs(std::size_t copy, Seals& seals) const;
  /// Enqueues what makes the outputs' elements those that were kept, or poison where none were.
  void reveal_outputs(std::size_t copy, Seals& seals) const;
  /// Enqueues a copy of the outputs' elements to the arena, between `begin` and `finish`.
  void copy_out() const;

 private:
  struct Shared {  ///< An input or output.
    ArenaBuffer buffer;
    std::unique_ptr<Range> range;
    Address first_page = 0;
    Address first = 0;
  };
  struct Private {  ///< Scratch or state: the same pages for every plan.
    std::unique_ptr<Range> range;
  };
  struct State {  ///< Of one plan: what a private buffer holds at first, read-only.
    std::size_t buffer = 0;
    std::span<const std::byte> image;
    std::unique_ptr<Range> pristine;
  };

  void poison_outputs(std::uint32_t pattern) const;
  void poison_scratch(std::size_t plan, std::uint32_t pattern) const;
  [[nodiscard]] Address private_address(std::size_t index, std::uint64_t bytes) const;

  Device& device_;
  Exchange& arena_;
  std::vector<const LaunchPlan*> plans_;
  bool high_;
  std::uint32_t canary_ = 0;
  std::vector<Shared> shared_;
  std::vector<Private> private_;
  std::vector<std::vector<State>> states_;
  std::vector<std::vector<std::unique_ptr<Range>>> kept_;  ///< By copy, then output.
};

}  // namespace ouroboros::cuda
