#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "executor/cuda/main/bracket.hpp"

namespace ouroboros::cuda {

/// What a sample has in it that is none of its arm's work: a launch, and in a chain the gaps
/// between its calls. Kernels that spin on all multiprocessors for some microseconds, and say when
/// their blocks began and ended, are timed as an arm is; what the events saw beyond that is it.
/// Their threads write their results last, as those of most kernels do: for these to arrive is part
/// of it, which an empty kernel's time has not.
class Handover {
 public:
  struct Taken {
    double each_us = 0;  ///< What each kernel had of it.
    double gap_us = 0;   ///< From the end of one to the begin of the next; 0 for a single one.
  };

  /// `kernels`: so many at once, as an arm's sample has. Maps memory, which makes the device forget
  /// how addresses translate.
  Handover(Device& device, Bracket& bracket, std::size_t kernels);

  [[nodiscard]] std::size_t kernels() const noexcept { return words_.size(); }

  /// One sample; nothing where it was starved. `place`: see Places.
  [[nodiscard]] std::optional<Taken> take(unsigned place);

 private:
  [[nodiscard]] std::vector<Span> run(unsigned place);

  Device& device_;
  Bracket& bracket_;
  /// When blocks began and ended: on a page with what threads write it lets some kernels end 0.4 us
  /// later.
  Range spans_;
  /// Each kernel has pages of its own, as the calls of a chain do.
  std::vector<std::unique_ptr<Range>> words_;
};

}  // namespace ouroboros::cuda
