#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ouroboros/tracer.hpp"
#include "sandbox/descriptor.hpp"
#include "sandbox/process.hpp"
#include "sandbox/scratch.hpp"
#include "trace/frames.hpp"

namespace ouroboros::trace {

/// A zygote died, or is as good as dead, before it replied.
struct Lost {
  std::string reason;
};

/// One zygote: a process in its sandbox, and a thread that sorts its replies.
class Zygote {
 public:
  /// Starts it and waits until it is ready. Throws `Error` or `Lost`.
  explicit Zygote(const TracerOptions& options);
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  /// Sends one request and waits for its reply. `seconds` is what the zygote grants the request
  /// at most.
  /// Throws `Lost` and `Error{cancelled}`.
  Frame call(const Frame& request, double seconds);

  /// Has the zygote remove what was built under that name. Nothing is said where it is lost: its
  /// folder goes with it.
  void forget(const std::string& builds);

  [[nodiscard]] bool lost();
  [[nodiscard]] const Isolation& isolation() const noexcept { return process_->isolation(); }

 private:
  using Clock = std::chrono::steady_clock;

  void end();
  void read() noexcept;
  std::optional<std::string> serve();
  bool read_frames();
  bool read_complaints();
  void read_last_words();
  void send(std::uint64_t id, const std::vector<std::byte>& bytes, Clock::time_point deadline);
  std::optional<Frame> wait(std::uint64_t id, Clock::time_point deadline, bool cancellable);
  void lose(std::string reason) noexcept;
  std::string reason();

  const TracerOptions& options_;
  sandbox::Scratch scratch_;
  sandbox::Descriptor socket_;
  sandbox::Descriptor complaints_;  ///< The zygote's standard error.
  sandbox::Descriptor stop_;
  std::optional<sandbox::Process> process_;

  std::mutex sending_;
  std::mutex mutex_;  ///< Of everything below.
  std::condition_variable changed_;
  std::map<std::uint64_t, std::optional<Frame>> replies_;
  std::uint64_t next_id_ = 1;
  std::string complaint_;
  bool lost_ = false;
  std::string loss_;  ///< Why; empty where there was no memory to say it.

  // The reader's own.
  std::vector<std::byte> chunk_;
  Decoder decoder_;
  std::thread reader_;
};

}  // namespace ouroboros::trace
