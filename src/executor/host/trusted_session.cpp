#include <sched.h>
#include <sys/prctl.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/start_thread.hpp"
#include "executor/host/callee_clock.hpp"
#include "executor/host/listener.hpp"
#include "executor/host/seal.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/executor.hpp"

namespace ouroboros {
namespace host {
namespace {

/// A thread of this process whose hand-over is the sealed process' own: the same system call,
/// stopped by the same kind of filter, seen by the same listener. Everything else is allowed.
class TrustedSession final : public Session {
 public:
  explicit TrustedSession(std::vector<std::function<void()>> calls) : calls_(std::move(calls)) {
    isolation_.level = "none";
    thread_ = start_thread([this] { serve(); });
    try {
      attach();
    } catch (...) {
      end();
      throw;
    }
  }

  ~TrustedSession() override { end(); }
  TrustedSession(const TrustedSession&) = delete;
  TrustedSession& operator=(const TrustedSession&) = delete;

  Replay replay(std::size_t call, Placement) override {
    if (call >= calls_.size()) {
      throw Error(ErrorCode::invalid_argument, "there is no call " + std::to_string(call));
    }
    next_.store(call, std::memory_order_release);
    clock_->start();
    listener_.answer(0);
    wait();
    if (failure_) {
      std::rethrow_exception(std::exchange(failure_, nullptr));
    }
    Replay replay;
    clock_->stop(listener_.last(), replay);
    return replay;
  }

  void pin(int cpu) override {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    pthread_setaffinity_np(thread_.native_handle(), sizeof set, &set);
  }

  [[nodiscard]] bool exports(std::size_t call) const override { return call < calls_.size(); }
  [[nodiscard]] const Replay& opening() const noexcept override { return opening_; }
  [[nodiscard]] const Isolation& isolation() const noexcept override { return isolation_; }

 private:
  static constexpr std::size_t quit = static_cast<std::size_t>(-1);

  void attach() {
    {
      std::unique_lock lock(mutex_);
      started_.wait(lock, [this] { return listener_descriptor_.has_value(); });
    }
    if (*listener_descriptor_ < 0) {
      throw Error(ErrorCode::sandbox_unavailable,
                  std::string("the hand-over's filter could not be installed: ") +
                      std::strerror(start_error_));
    }
    listener_ = Listener(sandbox::Descriptor(*listener_descriptor_));
    clockid_t clock{};
    pthread_getcpuclockid(thread_.native_handle(), &clock);
    clock_.emplace(clock);
    wait();
  }

  /// Without a listener every hand-over returns at once, also one that nobody has seen.
  void end() noexcept {
    next_.store(quit, std::memory_order_release);
    listener_ = Listener();
    thread_.join();
  }

  void wait() {
    // A trusted call takes as long as it takes: it is the user's own code.
    if (listener_.wait(std::chrono::hours{24}, -1, {}) != Listener::Event::stopped) {
      throw Error(ErrorCode::executor_lost, "a baseline did not come back");
    }
    static_cast<void>(done_.load(std::memory_order_acquire));
  }

  void serve() {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);  // Of this thread alone.
    const long listener =
        install_filter({handover_syscall}, SECCOMP_RET_USER_NOTIF, Otherwise::allow, true);
    {
      const std::lock_guard lock(mutex_);
      start_error_ = errno;
      listener_descriptor_ = static_cast<int>(listener);
    }
    started_.notify_one();
    if (listener < 0) {
      return;
    }
    for (;;) {
      done_.store(true, std::memory_order_release);
      hand_over(Reason::ready);
      const auto call = next_.load(std::memory_order_acquire);
      if (call == quit) {
        return;
      }
      try {
        calls_[call]();
      } catch (...) {
        failure_ = std::current_exception();
      }
    }
  }

  // The hand-over orders every access to what follows. That is the kernel's doing, which neither
  // the language nor ThreadSanitizer knows: the two atomics say it in their words, and cost
  // nothing.
  std::vector<std::function<void()>> calls_;
  std::exception_ptr failure_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> done_ = false;

  std::mutex mutex_;
  std::condition_variable started_;
  std::optional<int> listener_descriptor_;  ///< May be 0 where standard input is closed.
  int start_error_ = 0;
  Listener listener_;
  std::optional<CalleeClock> clock_;
  std::thread thread_;
  Replay opening_;
  Isolation isolation_;
};

}  // namespace
}  // namespace host

std::unique_ptr<Session> open_trusted(std::vector<std::function<void()>> calls) {
  return std::make_unique<host::TrustedSession>(std::move(calls));
}

}  // namespace ouroboros
