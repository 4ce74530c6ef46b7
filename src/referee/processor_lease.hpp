#pragma once

#include <sched.h>

#include "sandbox/descriptor.hpp"

namespace ouroboros::referee {

/// One processor for one timed stretch, machine-wide: a lock file for each processor keeps two
/// referees, in one process or in several, from timing on the same one. While the lease lives the
/// calling thread runs on that processor alone; afterwards where it could run before.
class ProcessorLease {
 public:
  ProcessorLease();
  ~ProcessorLease();
  ProcessorLease(const ProcessorLease&) = delete;
  ProcessorLease& operator=(const ProcessorLease&) = delete;

  [[nodiscard]] int cpu() const noexcept { return cpu_; }

  /// False when the lock files cannot be used: others may time on the same processor.
  [[nodiscard]] bool exclusive() const noexcept { return static_cast<bool>(lock_); }

 private:
  cpu_set_t before_{};
  int cpu_ = 0;
  sandbox::Descriptor lock_;
};

}  // namespace ouroboros::referee
