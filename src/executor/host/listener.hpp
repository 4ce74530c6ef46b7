#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "executor/host/protocol.hpp"
#include "sandbox/descriptor.hpp"

namespace ouroboros::host {

/// A system call of a supervised thread. The kernel holds that thread until it is answered.
struct Notification {
  std::uint64_t id = 0;
  long number = 0;
  bool native = true;  ///< False for a call through another architecture's table (int 0x80).
  std::uint64_t arguments[6] = {};
  std::chrono::steady_clock::time_point received;
};

/// The referee's end of a seccomp filter: learns when the callee stands still, and lets it go.
class Listener {
 public:
  Listener() = default;
  explicit Listener(sandbox::Descriptor descriptor);

  /// What `wait` saw.
  enum class Event : std::uint8_t { stopped, ended, timeout };

  /// Waits until the callee makes a system call (`last` then holds it), until `process` (a pidfd,
  /// or -1) ends, or until time runs out. Asks `cancelled` now and then; throws Error{cancelled}.
  Event wait(std::chrono::nanoseconds timeout, int process, const std::function<bool()>& cancelled);

  [[nodiscard]] const Notification& last() const noexcept { return last_; }

  /// Lets the callee go on: its system call returns `value`, or fails with `error` when that is not
  /// zero. False when the callee no longer waits.
  bool answer(std::int64_t value, int error = 0) noexcept;

 private:
  sandbox::Descriptor descriptor_;
  Notification last_;
};

}  // namespace ouroboros::host
