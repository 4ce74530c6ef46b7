#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "executor/cuda/main/flush.hpp"
#include "executor/cuda/main/gate.hpp"
#include "executor/cuda/main/graph.hpp"
#include "ouroboros/cuda_executor.hpp"

namespace ouroboros::cuda {

/// Times work, by itself on a cold, clean cache: a flush, an event, the work, an event. That the
/// host did not keep the device waiting in between is checked each time. Several may be under way:
/// the host submits one while the device is at those before it.
class Bracket {
 public:
  explicit Bracket(Device& device, Cache cache = Cache::cold);

  struct Times {
    double work_us = 0;
    double flush_us = 0;
    double waited_us = 0;  ///< Between flush and work: at the gate, or in a run that warms up.
    bool starved = false;  ///< The device may have waited for the host inside the measurement.
  };

  /// Enqueues flush and work. `work` only enqueues. Returns what to ask for with `read`, before
  /// `kept` more are enqueued.
  std::size_t enqueue(const std::function<void()>& work);
  static constexpr std::size_t kept = 4;

  /// Enqueues flushes that are not measured.
  void warm_up();

  /// What that one took, once the stream has passed it.
  [[nodiscard]] Times read(std::size_t taken) const;

  [[nodiscard]] Submission submission() const noexcept { return submission_; }

  /// Goes over to the next way of submission, if there is one.
  void escalate() noexcept;

  /// What a launch adds to the time of a kernel that runs for ten microseconds, again and again:
  /// the time between the events less that which the kernel itself saw pass. An empty kernel's time
  /// would be too much: it ends before the device has got to the second event.
  [[nodiscard]] std::vector<double> launch_costs(std::size_t count);

  /// For calibration.
  void use(Submission submission) noexcept { submission_ = submission; }

 private:
  /// What is known of one until it is read.
  struct Taken {
    explicit Taken(const Device& device);

    Event flush_begins;
    Event flush_ends;
    Event start;
    Event stop;
    std::unique_ptr<Graph> graph;
    std::optional<unsigned> gate;
    bool starved = false;
  };

  void prepare_cache(const Taken& one, const std::function<void()>& work);

  Device& device_;
  Cache cache_;
  Flush flush_;
  std::unique_ptr<Range> dirt_;
  Gate gate_;
  std::deque<Taken> taken_;
  std::size_t next_ = 0;
  Submission submission_ = Submission::stream;
};

}  // namespace ouroboros::cuda
