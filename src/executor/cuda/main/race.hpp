#pragma once

#include <memory>
#include <vector>

#include "executor/cuda/main/memory.hpp"
#include "executor/cuda/main/program.hpp"
#include "ouroboros/executor.hpp"

namespace ouroboros::cuda {

/// Evicts the L2 cache by reading a buffer twice its size, and leaves it clean: a write would leave
/// lines whose write-back the next kernel pays for.
class Flush {
 public:
  explicit Flush(Device& device);

  /// Enqueues one pass.
  void enqueue() const;

 private:
  Device& device_;
  unsigned grid_;
  std::uint64_t count_;  ///< 16-byte words.
  Range buffer_;
  Range sink_;
};

/// What a process measures of itself.
struct Calibration {
  double tick_ns = 0;
  double empty_launch_us = 0;
  double flush_us = 0;
  double copy_gbps = 0;
};

Calibration calibrate(Device& device, const Flush& flush);

/// Several plans of one signature that take turns on the same pages at the same addresses.
class Race {
 public:
  struct Sample {
    double latency_us = 0;
    bool starved = false;
    bool same_as_first = true;
  };
  struct Block {
    std::vector<Sample> samples;
    Replay replay;        ///< Anything but `returned` ended the block early.
    std::size_t arm = 0;  ///< Which did that.
  };

  /// Throws `LoadFailure`, and `Error{invalid_argument}` for plans of different signatures.
  Race(Device& device, std::unique_ptr<Exchange> arena, std::vector<ArenaBuffer> buffers,
       std::vector<LaunchPlan> arms);

  void upload();
  Block run(const std::vector<std::size_t>& order, double seconds);
  void download(std::size_t arm) const;
  Calibration calibrate() { return cuda::calibrate(device_, flush_); }

 private:
  [[nodiscard]] std::vector<const LaunchPlan*> plans() const;
  void sample(std::size_t arm, Address counter, bool first, double seconds, Sample& result);

  Device& device_;
  std::unique_ptr<Exchange> arena_;
  Modules modules_;
  std::vector<Program> arms_;
  Memory memory_;
  Flush flush_;
  EventHandle start_;
  EventHandle stop_;
  bool uploaded_ = false;
  unsigned passes_ = 1;  ///< Of the flush: more where submitting the launches takes longer.
};

}  // namespace ouroboros::cuda
