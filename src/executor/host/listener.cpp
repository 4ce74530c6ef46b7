#include "executor/host/listener.hpp"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ouroboros/error.hpp"

namespace ouroboros::host {
namespace {

constexpr std::chrono::milliseconds slice{50};  // How often `cancelled` is asked.

#if defined(__x86_64__)
constexpr std::uint32_t native_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t native_architecture = AUDIT_ARCH_AARCH64;
#endif

}  // namespace

Listener::Listener(sandbox::Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

Listener::Event Listener::wait(std::chrono::nanoseconds timeout, int process,
                               const std::function<bool()>& cancelled) {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  const auto deadline = steady_clock::now() + timeout;
  for (;;) {
    const auto left = duration_cast<milliseconds>(deadline - steady_clock::now());
    pollfd ready[2] = {{descriptor_.get(), POLLIN, 0}, {process, POLLIN, 0}};
    const int polled =
        poll(ready, 2, static_cast<int>(std::clamp(left, milliseconds{0}, slice).count()));
    if ((ready[0].revents & POLLIN) != 0) {
      seccomp_notif notification;
      std::memset(&notification, 0, sizeof notification);
      if (ioctl(descriptor_.get(), SECCOMP_IOCTL_NOTIF_RECV, &notification) == 0) {
        last_.received = steady_clock::now();
        last_.id = notification.id;
        last_.number = notification.data.nr;
        last_.native = notification.data.arch == native_architecture;
        std::copy_n(notification.data.args, 6, last_.arguments);
        return Event::stopped;
      }
      if (errno != ENOENT && errno != EINTR) {  // ENOENT: the callee died meanwhile.
        throw Error(ErrorCode::executor_lost,
                    std::string("a stopped candidate cannot be seen: ") + std::strerror(errno));
      }
      continue;
    }
    if ((ready[1].revents & POLLIN) != 0 || (ready[0].revents & (POLLHUP | POLLERR)) != 0) {
      return Event::ended;
    }
    if (polled < 0 && errno != EINTR) {
      throw Error(ErrorCode::executor_lost,
                  std::string("waiting for a candidate failed: ") + std::strerror(errno));
    }
    if (cancelled && cancelled()) {
      throw Error(ErrorCode::cancelled, "cancelled while a candidate was running");
    }
    if (steady_clock::now() >= deadline) {
      return Event::timeout;
    }
  }
}

bool Listener::answer(std::int64_t value, int error) noexcept {
  seccomp_notif_resp response;
  std::memset(&response, 0, sizeof response);
  response.id = last_.id;
  response.val = value;
  response.error = -error;
  return ioctl(descriptor_.get(), SECCOMP_IOCTL_NOTIF_SEND, &response) == 0;
}

}  // namespace ouroboros::host
