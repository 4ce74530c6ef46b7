#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "executor/host/callee_clock.hpp"
#include "executor/host/listener.hpp"
#include "executor/host/protocol.hpp"
#include "ouroboros/executor.hpp"
#include "sandbox/process.hpp"

namespace ouroboros::host {

/// A candidate in its sealed process.
class HostSession final : public Session {
 public:
  HostSession(const HostPlan& plan, std::shared_ptr<const Arena> arena, const Limits& limits,
              std::function<bool()> cancelled);
  HostSession(const HostSession&) = delete;
  HostSession& operator=(const HostSession&) = delete;

  Replay replay(std::size_t call, Placement placement) override;
  void pin(int cpu) override;
  [[nodiscard]] bool exports(std::size_t call) const override;
  [[nodiscard]] const Replay& opening() const noexcept override { return opening_; }
  [[nodiscard]] const Isolation& isolation() const noexcept override { return isolation_; }

 private:
  struct Unmap {
    void operator()(Control* control) const noexcept;
  };

  void make_controls(const HostPlan& plan, const std::map<std::string, std::size_t>& numbers);
  void receive_listener(int socket);
  Replay wait(std::chrono::duration<double> patience);

  /// What a system call means; empty when it was answered and the candidate runs on.
  std::optional<Replay> decide(const Notification& notification);
  Replay ended();
  [[nodiscard]] std::string describe_signal(const Notification& notification) const;

  std::shared_ptr<const Arena> arena_;
  Limits limits_;
  std::function<bool()> cancelled_;
  std::vector<std::uint64_t> entry_;  ///< Number of each call's entry point.
  sandbox::Descriptor control_file_;
  std::unique_ptr<Control, Unmap> control_;
  std::unique_ptr<sandbox::Process> process_;
  std::optional<CalleeClock> clock_;
  Listener listener_;
  Loaded loaded_;
  Isolation isolation_;
  Replay opening_;
  Replay dead_;  ///< The last outcome; final unless it is `returned`.
  bool heap_exhausted_ = false;
};

std::unique_ptr<Session> open_host_session(const HostPlan& plan, std::shared_ptr<const Arena> arena,
                                           const Limits& limits, std::function<bool()> cancelled);

}  // namespace ouroboros::host
