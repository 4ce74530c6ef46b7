#include <errno.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "executor/host/arena_layout.hpp"
#include "executor/host/host_session.hpp"
#include "executor/host/system_calls.hpp"

namespace ouroboros::host {
namespace {

constexpr std::uint64_t stack_red_zone = 64 * 1024;

/// Asking for memory beyond the prepaid heap: not a cheat, merely refused.
bool asks_for_heap(const Notification& call) {
  const bool executable = (call.arguments[2] & PROT_EXEC) != 0;
  const bool anonymous = (call.arguments[3] & MAP_ANONYMOUS) != 0;
  return call.number == SYS_brk || (call.number == SYS_mmap && anonymous && !executable) ||
         call.number == SYS_mremap;
}

/// Waking threads that wait for a lock. There are none: the C++ runtime asks out of habit.
bool wakes_nobody(const Notification& call) {
  constexpr std::uint64_t operation_mask = 0x7f;
  return call.number == SYS_futex && (call.arguments[1] & operation_mask) == FUTEX_WAKE;
}

/// What stdio asks of standard output and standard error, first that it is there.
bool prints(const Notification& call) {
  const bool output = call.arguments[0] == 1 || call.arguments[0] == 2;
  return output &&
         (call.number == SYS_write || call.number == SYS_writev || call.number == SYS_fstat ||
          call.number == SYS_newfstatat || call.number == SYS_ioctl);
}

}  // namespace

std::optional<Replay> HostSession::decide(const Notification& call) {
  if (!call.native) {
    return Replay{Outcome::forbidden_syscall,
                  {},
                  {},
                  fmt::format("made the 32-bit system call {} in a sealed process", call.number)};
  }
  if (call.number == handover_syscall) {
    switch (static_cast<Reason>(call.arguments[0])) {
      case Reason::ready:
        return Replay{};
      case Reason::signal:
        return Replay{Outcome::fault, {}, {}, describe_signal(call)};
      case Reason::exception:
        return heap_exhausted_
                   ? Replay{Outcome::out_of_memory,
                            {},
                            {},
                            fmt::format("ran out of its {} MiB of heap", limits_.heap_mib)}
                   : Replay{Outcome::fault, {}, {}, "a C++ exception was not caught"};
      case Reason::abort:
        return Replay{Outcome::fault, {}, {}, "called abort()"};
      case Reason::assertion:
        return Replay{Outcome::fault, {}, {}, "an assertion failed"};
    }
    return Replay{Outcome::forbidden_syscall, {}, {}, "made a hand-over that does not exist"};
  }
  if (asks_for_heap(call)) {
    heap_exhausted_ = true;
    // glibc takes any break that is not below the one it asked for as success.
    const bool is_break = call.number == SYS_brk;
    listener_.answer(is_break ? static_cast<std::int64_t>(loaded_.program_break) : 0,
                     is_break ? 0 : ENOMEM);
    return std::nullopt;
  }
  if (wakes_nobody(call)) {
    listener_.answer(0);
    return std::nullopt;
  }
  if (call.number == SYS_exit || call.number == SYS_exit_group) {
    return Replay{Outcome::exited,
                  {},
                  {},
                  fmt::format("tried to end its process with exit status {}",
                              static_cast<int>(call.arguments[0]))};
  }
  return Replay{Outcome::forbidden_syscall,
                {},
                {},
                fmt::format("made the system call {}({:#x}, {:#x}, {:#x}) in a sealed process{}",
                            system_call_name(call.number), call.arguments[0], call.arguments[1],
                            call.arguments[2], prints(call) ? ": it prints" : "")};
}

std::string HostSession::describe_signal(const Notification& call) const {
  const int number = static_cast<int>(call.arguments[1]);
  const std::uint64_t address = call.arguments[2];
  const std::uint64_t stack_pointer = call.arguments[3];
  const std::uint64_t counter = call.arguments[4];
  const char* name = sigabbrev_np(number) != nullptr ? sigabbrev_np(number) : "?";
  if (number != SIGSEGV && number != SIGBUS) {
    return fmt::format("died of SIG{} ({})", name, strsignal(number));
  }
  const auto& calls = arena_->layout().calls();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    for (std::size_t j = 0; j < calls[i].buffers.size(); ++j) {
      const auto& region = arena_->layout().region(i, j);
      const std::uint64_t begin = loaded_.span_address + region.span_offset;
      const std::uint64_t end = begin + region.bytes;
      const auto& buffer = calls[i].buffers[j];
      const char* role = buffer.role == BufferRole::input ? "input" : "output";
      if (address >= begin && address < end) {
        return fmt::format("wrote to the read-only {} '{}'", role, buffer.name);
      }
      if (address >= end && address < end + guard_bytes / 2) {
        return fmt::format("touched memory {} bytes past the pages of {} '{}'", address - end, role,
                           buffer.name);
      }
      if (address < begin && address >= begin - guard_bytes / 2) {
        return fmt::format("touched memory {} bytes before the pages of {} '{}'", begin - address,
                           role, buffer.name);
      }
    }
  }
  if (address == counter) {
    return fmt::format("jumped to {:#x}, which holds no code", address);
  }
  if (address + stack_red_zone > stack_pointer && address < stack_pointer + stack_red_zone) {
    return fmt::format("overflowed its stack of {} MiB", limits_.stack_mib);
  }
  return fmt::format("touched the invalid address {:#x} (SIG{})", address, name);
}

}  // namespace ouroboros::host
