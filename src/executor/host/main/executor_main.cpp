// ouroboros-executor: maps a candidate's module and its buffers, seals itself, and then calls the
// candidate as often as the referee wants. It inherits the descriptors of protocol.hpp and takes
// no arguments.
//
// From `module.start()` on, this process belongs to the candidate. Nothing secret is in it: inputs
// appear in the shared pages only after the seal, and every system call stops it.

#include <dlfcn.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executor/host/main/elf.hpp"
#include "executor/host/protocol.hpp"
#include "executor/host/seal.hpp"

namespace {

using namespace ouroboros::host;

template <typename Places>
struct WithArguments;

// The arguments' number is not known here. Both supported ABIs let a callee ignore what it was not
// declared with, in registers and on the stack.
template <std::size_t... place>
struct WithArguments<std::index_sequence<place...>> {
  template <std::size_t>
  using Word = std::uint64_t;
  using Entry = void (*)(Word<place>...);

  static void call(Entry entry, const std::uint64_t* arguments) { entry(arguments[place]...); }
};
using Most = WithArguments<std::make_index_sequence<ouroboros::max_call_arguments>>;
using Entry = Most::Entry;

/// A fault of this process' surroundings, as opposed to the module's.
struct SetupError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void* checked_map(void* where, std::size_t bytes, int protection, int flags, int descriptor,
                  std::uint64_t offset, const char* what) {
  void* mapping = mmap(where, bytes, protection, flags, descriptor, static_cast<off_t>(offset));
  if (mapping == MAP_FAILED) {
    throw SetupError(std::string(what) + " cannot be mapped: " + std::strerror(errno));
  }
  return mapping;
}

/// Maps every buffer into one reservation in which all else is inaccessible.
std::byte* map_buffers(const Control& control, const Region* regions) {
  auto* span = static_cast<std::byte*>(checked_map(nullptr, control.span_bytes, PROT_NONE,
                                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                                                   0, "the buffers' address space"));
  for (std::uint64_t i = 0; i < control.regions; ++i) {
    const Region& region = regions[i];
    checked_map(span + region.span_offset, region.bytes,
                region.writable != 0 ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED | MAP_FIXED,
                arena_descriptor, region.arena_offset, "a buffer");
  }
  return span;
}

// The heap is paid for before the seal: afterwards it cannot grow. Its pages cost nothing until
// they are touched.
void prepay_heap(std::uint64_t bytes) {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, static_cast<int>(std::min<std::uint64_t>(bytes, INT_MAX)));
  void* volatile block = malloc(256 * 1024);  // Volatile, or the compiler leaves both calls out.
  free(block);
}

[[noreturn]] void stop(Reason reason) {
  hand_over(reason);
  __builtin_trap();  // The referee never lets a stopped candidate go on from here.
}

[[noreturn]] void on_abort() { stop(Reason::abort); }
[[noreturn]] void on_assertion() { stop(Reason::assertion); }
[[noreturn]] void on_terminate() { stop(Reason::exception); }

void on_signal(int number, siginfo_t* info, void* context) {
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  const auto stack_pointer = static_cast<std::uint64_t>(registers.gregs[REG_RSP]);
  const auto counter = static_cast<std::uint64_t>(registers.gregs[REG_RIP]);
#elif defined(__aarch64__)
  const auto stack_pointer = static_cast<std::uint64_t>(registers.sp);
  const auto counter = static_cast<std::uint64_t>(registers.pc);
#endif
  hand_over(Reason::signal, static_cast<std::uint64_t>(number),
            reinterpret_cast<std::uint64_t>(info->si_addr), stack_pointer, counter);
  __builtin_trap();
}

void catch_signals() {
  static std::byte stack[64 * 1024];
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESETHAND;
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) {
    sigaction(number, &action, nullptr);
  }
}

/// Ours where the library's would make system calls, which tell a mistake from a crime no more.
void* resolve(const char* name) {
  const std::string_view wanted = name;
  if (wanted == "abort") {
    return reinterpret_cast<void*>(&on_abort);
  }
  if (wanted == "__assert_fail" || wanted == "_ZSt21__glibcxx_assert_failPKciS0_S0_") {
    return reinterpret_cast<void*>(&on_assertion);
  }
  return dlsym(RTLD_DEFAULT, name);
}

void send(const Loaded& loaded, int listener) {
  iovec body{const_cast<Loaded*>(&loaded), sizeof loaded};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof listener)] = {};
  msghdr message{};
  message.msg_iov = &body;
  message.msg_iovlen = 1;
  if (listener >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof listener);
    std::memcpy(CMSG_DATA(header), &listener, sizeof listener);
  }
  sendmsg(socket_descriptor, &message, MSG_NOSIGNAL);
}

[[noreturn]] void give_up(const char* reason, bool candidate_fault) {
  Loaded loaded;
  std::strncpy(loaded.error, reason, sizeof loaded.error - 1);
  loaded.candidate_fault = candidate_fault;
  send(loaded, -1);
  _exit(1);
}

// Not to be left by an exception: unwinding into our own frames would run their destructors.
[[noreturn]] void serve(const Control& control, const std::vector<Entry>& entries) noexcept {
  for (;;) {
    if (hand_over(Reason::ready) != 0) {
      __builtin_trap();  // Nobody answers: the referee is gone.
    }
    Most::call(entries[control.entry], control.arguments);
  }
}

[[noreturn]] void run() {
  const auto* control = static_cast<const Control*>(checked_map(
      nullptr, page_bytes, PROT_READ, MAP_SHARED, control_descriptor, 0, "the controls"));
  const std::size_t table_bytes =
      control->regions * sizeof(Region) + control->entries * sizeof(EntryName);
  const auto* regions = static_cast<const Region*>(checked_map(
      nullptr, table_bytes, PROT_READ, MAP_SHARED, control_descriptor, page_bytes, "the tables"));
  const auto* names = reinterpret_cast<const EntryName*>(regions + control->regions);
  const auto* image = static_cast<const std::byte*>(checked_map(
      nullptr, control->image_bytes, PROT_READ, MAP_PRIVATE, image_descriptor, 0, "the module"));

  Loaded loaded;
  loaded.span_address = reinterpret_cast<std::uint64_t>(map_buffers(*control, regions));
  dlopen("libmvec.so.1", RTLD_NOW | RTLD_GLOBAL);  // Vectorised mathematics, where there is any.
  auto module = Module::map({image, control->image_bytes}, resolve);

  prepay_heap(control->heap_bytes);
  try {
    throw 0;  // The unwinder sets itself up on its first use, with a system call.
  } catch (int) {
  }
  catch_signals();
  std::set_terminate(on_terminate);
  std::vector<Entry> entries(control->entries, nullptr);
  for (std::uint64_t i = 0; i < control->entries; ++i) {
    loaded.entries_found |= std::uint64_t{module.exports(names[i].text)} << i;
  }
  loaded.program_break = reinterpret_cast<std::uint64_t>(sbrk(0));

  // Two filters, because the listener must travel after it exists. The first stops every call but
  // those three; the second kills on them. The strictest filter wins.
  const long listener =
      install_filter({SYS_sendmsg, SYS_seccomp}, SECCOMP_RET_ALLOW, Otherwise::notify, true);
  if (listener < 0) {
    throw SetupError(std::string("the seal could not be applied: ") + std::strerror(errno));
  }
  send(loaded, static_cast<int>(listener));
  if (install_filter({SYS_sendmsg, SYS_seccomp}, SECCOMP_RET_KILL_PROCESS, Otherwise::allow,
                     false) != 0) {
    __builtin_trap();  // Sealed but for these two: not good enough.
  }

  // The candidate's first instructions: resolvers and constructors.
  [&module]() noexcept { module.start(); }();
  for (std::uint64_t i = 0; i < control->entries; ++i) {
    entries[i] = reinterpret_cast<Entry>(module.find(names[i].text));
  }
  serve(*control, entries);
}

}  // namespace

int main() {
  try {
    run();
  } catch (const LoadError& error) {
    give_up(error.what(), true);
  } catch (const std::exception& error) {
    give_up(error.what(), false);
  }
}
