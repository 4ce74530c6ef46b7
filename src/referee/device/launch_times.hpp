#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ouroboros/cuda_executor.hpp"

namespace ouroboros::referee::device {

/// How long kernels ran, all replays together.
struct LaunchTimes {
  std::map<std::string, std::chrono::nanoseconds> kernels;  ///< By name.
  std::chrono::nanoseconds libraries{0};                    ///< Of them, libraries' kernels.
  std::chrono::nanoseconds all{0};                          ///< Fills and copies too.

  /// Each kernel's share of all; empty when nothing ran.
  [[nodiscard]] std::map<std::string, double> shares() const;
};

/// The same session, whose replays are added to `times`, which must outlive it. `plans` are those
/// that it was opened with.
[[nodiscard]] std::unique_ptr<Session> recorded(std::unique_ptr<CudaSession> session,
                                                const std::vector<LaunchPlan>& plans,
                                                LaunchTimes& times);

}  // namespace ouroboros::referee::device
