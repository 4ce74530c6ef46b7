#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <initializer_list>
#include <vector>

#include "executor/host/protocol.hpp"

/// The seal: seccomp filters whose verdict on a system call is "stop, and let the referee decide"
/// (SECCOMP_RET_USER_NOTIF, Linux 5.0). Used by the executor on itself and, with everything but
/// the hand-over allowed, by trusted arms: so both are stopped by the same mechanism at one cost.
namespace ouroboros::host {

/// What happens to the system calls that a filter does not name.
enum class Otherwise : unsigned {
  allow = SECCOMP_RET_ALLOW,
  notify = SECCOMP_RET_USER_NOTIF,
};

/// Installs a filter on the calling thread: `named` calls get `action`, all others `otherwise`.
/// Returns the listener's descriptor when one was asked for, 0 when not, and -1 on failure.
inline long install_filter(std::initializer_list<long> named, unsigned action, Otherwise otherwise,
                           bool with_listener) {
  std::vector<sock_filter> program;
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (const long number : named) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, action));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, static_cast<unsigned>(otherwise)));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  // Without SPEC_ALLOW older kernels would turn on a mitigation that slows the thread down.
  const unsigned long flags =
      SECCOMP_FILTER_FLAG_SPEC_ALLOW | (with_listener ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0UL);
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
}

/// Stops the calling thread until the referee lets it go on.
inline long hand_over(Reason reason, std::uint64_t first = 0, std::uint64_t second = 0,
                      std::uint64_t third = 0, std::uint64_t fourth = 0) {
  return syscall(handover_syscall, static_cast<std::uint64_t>(reason), first, second, third,
                 fourth);
}

}  // namespace ouroboros::host
