#pragma once

#include <functional>
#include <memory>

#include "executor/cuda/main/flush.hpp"
#include "executor/cuda/main/gate.hpp"
#include "executor/cuda/main/graph.hpp"
#include "executor/cuda/main/kernels.hpp"
#include "executor/cuda/main/stamps.hpp"
#include "ouroboros/cuda_executor.hpp"

namespace ouroboros::cuda {

/// Times work, by itself on a cold, clean cache: a flush, an event, the work, an event. That the
/// host did not keep the device waiting in between is checked each time.
class Bracket {
 public:
  explicit Bracket(Device& device, Cache cache = Cache::cold);

  struct Times {
    double work_us = 0;
    double flush_us = 0;
    double waited_us = 0;  ///< Between flush and work: at the gate, or in a run that warms up.
    bool starved = false;  ///< The device may have waited for the host inside the measurement.
  };

  /// Lets go of what a kernel asked the cache to keep (`evict_last`), as PyTorch's compiled ones
  /// do: it outlives a flush, and the next to meet these inputs would find it.
  void release_lines();

  /// Enqueues none to seven kernels that do nothing, so that what is enqueued next comes at this
  /// place among launches: see Places.
  void take_place(unsigned place);

  /// Enqueues flush and work. `work` only enqueues. Something has to come behind it: on an H200 an
  /// event takes 0.1 us longer with more work in the stream.
  void enqueue(const std::function<void()>& work);

  /// Enqueues what comes behind an arm, a stamp, where nobody reads it.
  void follow();

  /// Enqueues flushes that are not measured.
  void warm_up();

  /// What the last one took, once the stream has passed it.
  [[nodiscard]] Times read() const;

  [[nodiscard]] Submission submission() const noexcept { return submission_; }

  /// Goes over to the next way of submission, if there is one.
  void escalate() noexcept;

  /// For calibration.
  void use(Submission submission) noexcept { submission_ = submission; }

 private:
  void prepare_cache(const std::function<void()>& work);

  Device& device_;
  Cache cache_;
  Flush flush_;
  std::unique_ptr<Range> dirt_;
  Gate gate_;
  Stamps behind_;
  std::unique_ptr<Graph> graph_;
  Event flush_begins_;
  Event flush_ends_;
  Event start_;
  Event stop_;
  Submission submission_ = Submission::stream;
  bool starved_ = false;
};

}  // namespace ouroboros::cuda
