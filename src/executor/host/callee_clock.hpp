#pragma once

#include <time.h>

#include <chrono>

#include "executor/host/listener.hpp"
#include "ouroboros/executor.hpp"

namespace ouroboros::host {

/// Clocks one call from outside: the kernel's account of the callee's processor time, and wall
/// time.
class CalleeClock {
 public:
  /// `clock` is a processor-time clock of the callee's process or thread.
  explicit CalleeClock(clockid_t clock) noexcept : clock_(clock) {}

  /// Call right before the callee is let go.
  void start() noexcept {
    used_ = read();
    wall_ = std::chrono::steady_clock::now();
  }

  /// Call when the callee stands: `stopped` is when that was learnt.
  void stop(const Notification& stopped, Replay& replay) const noexcept {
    replay.wall = stopped.received - wall_;
    replay.elapsed = read() - used_;
  }

 private:
  [[nodiscard]] std::chrono::nanoseconds read() const noexcept {
    timespec now{};
    clock_gettime(clock_, &now);
    return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
  }

  clockid_t clock_;
  std::chrono::nanoseconds used_{0};
  std::chrono::steady_clock::time_point wall_;
};

}  // namespace ouroboros::host
