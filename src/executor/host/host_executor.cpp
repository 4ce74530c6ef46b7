#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "executor/host/arena_layout.hpp"
#include "executor/host/host_session.hpp"
#include "ouroboros/error.hpp"
#include "sandbox/process.hpp"

namespace ouroboros {
namespace host {
namespace {

constexpr std::int64_t mib = 1024 * 1024;

sandbox::Descriptor memory_file(const char* name, const void* bytes, std::size_t size) {
  sandbox::Descriptor file(memfd_create(name, MFD_CLOEXEC));
  const auto* data = static_cast<const char*>(bytes);
  std::size_t written = 0;
  while (file && written < size) {
    const ssize_t count = write(file.get(), data + written, size - written);
    if (count < 0 && errno != EINTR) {
      file.reset();
    } else if (count > 0) {
      written += static_cast<std::size_t>(count);
    }
  }
  if (!file) {
    throw Error(ErrorCode::out_of_memory, fmt::format("{} bytes of shared memory cannot be had: {}",
                                                      size, std::strerror(errno)));
  }
  return file;
}

sandbox::Request request(const Limits& limits, std::uint64_t span_bytes, std::uint64_t image_bytes,
                         const sandbox::Descriptor& socket, int arena, int control, int image) {
  const auto program = sandbox::find_helper("ouroboros-executor");
  sandbox::Request request;
  request.command = {program.string()};
  request.environment = {"LC_ALL=C"};
  request.readable = sandbox::system_folders();
  request.readable.push_back(program);
  request.limits = {
      {"address_space",
       span_bytes + image_bytes * 4 + static_cast<std::uint64_t>((limits.heap_mib + 512) * mib)},
      {"stack", static_cast<std::uint64_t>(limits.stack_mib * mib)},
      {"file_size", 0},
      {"open_files", 32}};
  request.descriptors = {{socket.get(), socket_descriptor},
                         {arena, arena_descriptor},
                         {control, control_descriptor},
                         {image, image_descriptor}};
  return request;
}

}  // namespace

HostSession::HostSession(const HostPlan& plan, std::shared_ptr<const Arena> arena,
                         const Limits& limits, std::function<bool()> cancelled)
    : arena_(std::move(arena)), limits_(limits), cancelled_(std::move(cancelled)) {
  const auto& layout = arena_->layout();
  if (layout.calls().size() != plan.calls.size()) {
    throw Error(ErrorCode::invalid_argument, "the arena was laid out for another plan");
  }
  std::map<std::string, std::size_t> numbers;
  for (const auto& call : plan.calls) {
    entry_.push_back(numbers.emplace(call.entry, numbers.size()).first->second);
  }
  make_controls(plan, numbers);

  const auto image =
      memory_file("ouroboros-module", plan.module.bytes.data(), plan.module.bytes.size());
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error(ErrorCode::io, std::string("a socket cannot be made: ") + std::strerror(errno));
  }
  sandbox::Descriptor ours(ends[0]);
  sandbox::Descriptor theirs(ends[1]);
  process_ = std::make_unique<sandbox::Process>(
      request(limits_, layout.span_bytes(), plan.module.bytes.size(), theirs, layout.descriptor(),
              control_file_.get(), image.get()));
  theirs.reset();
  isolation_ = process_->isolation();
  clockid_t clock{};
  if (clock_getcpuclockid(process_->pid(), &clock) != 0) {
    throw Error(ErrorCode::sandbox_unavailable,
                "the processor time of another process cannot be read");
  }
  clock_.emplace(clock);
  receive_listener(ours.get());
  if (opening_.outcome == Outcome::returned) {
    opening_ = wait(std::chrono::duration<double>(limits_.load_seconds));
    dead_ = opening_;
  }
}

void HostSession::Unmap::operator()(Control* control) const noexcept {
  munmap(control, page_bytes);
}

void HostSession::make_controls(const HostPlan& plan,
                                const std::map<std::string, std::size_t>& numbers) {
  const auto& layout = arena_->layout();
  Control control;
  control.image_bytes = plan.module.bytes.size();
  control.heap_bytes = static_cast<std::uint64_t>(limits_.heap_mib * mib);
  control.span_bytes = layout.span_bytes();
  control.regions = layout.regions().size();
  control.entries = numbers.size();

  std::vector<EntryName> names(numbers.size());
  for (const auto& [name, number] : numbers) {
    if (name.size() >= sizeof(EntryName::text)) {
      throw Error(ErrorCode::invalid_argument, "the entry point's name is too long: " + name);
    }
    std::copy(name.begin(), name.end(), names[number].text);
  }
  std::vector<char> bytes(page_bytes + control.regions * sizeof(Region) +
                          names.size() * sizeof(EntryName) + 1);
  std::memcpy(bytes.data(), &control, sizeof control);
  char* tables = bytes.data() + page_bytes;
  std::copy_n(reinterpret_cast<const char*>(layout.regions().data()),
              control.regions * sizeof(Region), tables);
  std::copy_n(reinterpret_cast<const char*>(names.data()), names.size() * sizeof(EntryName),
              tables + control.regions * sizeof(Region));
  control_file_ = memory_file("ouroboros-control", bytes.data(), bytes.size());
  void* mapping =
      mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, control_file_.get(), 0);
  if (mapping == MAP_FAILED) {
    throw Error(ErrorCode::out_of_memory,
                std::string("the controls cannot be mapped: ") + std::strerror(errno));
  }
  control_.reset(static_cast<Control*>(mapping));
}

void HostSession::receive_listener(int socket) {
  const timeval patience{static_cast<time_t>(limits_.load_seconds) + 1, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  iovec body{&loaded_, sizeof loaded_};
  alignas(cmsghdr) char buffer[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &body;
  message.msg_iovlen = 1;
  message.msg_control = buffer;
  message.msg_controllen = sizeof buffer;
  const ssize_t received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  loaded_.error[sizeof loaded_.error - 1] = '\0';
  if (received != sizeof loaded_) {
    throw Error(ErrorCode::executor_lost, "the executor ended before it was sealed");
  }
  if (loaded_.error[0] != '\0') {
    if (loaded_.candidate_fault == 0) {
      throw Error(ErrorCode::sandbox_unavailable, loaded_.error);
    }
    opening_ = {Outcome::load_failed, {}, {}, loaded_.error};
    dead_ = opening_;
    return;
  }
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) {
    throw Error(ErrorCode::executor_lost, "the executor sent no listener");
  }
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  listener_ = Listener(sandbox::Descriptor(descriptor));
  isolation_.sealed = true;
  if (isolation_.level == "sandboxed") {
    isolation_.level = "sealed";
  }
}

bool HostSession::exports(std::size_t call) const {
  return ((loaded_.entries_found >> entry_.at(call)) & 1U) != 0;
}

void HostSession::pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  // A container may forbid it. The clock is right all the same, only noisier.
  sched_setaffinity(process_->pid(), sizeof set, &set);
}

Replay HostSession::replay(std::size_t call, Placement placement) {
  if (dead_.outcome != Outcome::returned) {
    return dead_;
  }
  const auto& buffers = arena_->layout().calls().at(call).buffers;
  if (!exports(call)) {
    return {
        Outcome::load_failed, {}, {}, "the module does not export " + arena_->calls()[call].entry};
  }
  control_->entry = entry_[call];
  std::size_t next = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    control_->arguments[next++] = loaded_.span_address +
                                  arena_->layout().region(call, i).span_offset +
                                  arena_->layout().offset(call, i, placement);
  }
  for (const auto size : arena_->layout().calls()[call].sizes) {
    control_->arguments[next++] = static_cast<std::uint64_t>(size);
  }
  clock_->start();
  if (!listener_.answer(0)) {
    throw Error(ErrorCode::executor_lost, "the executor was killed while it waited");
  }
  dead_ = wait(std::chrono::duration<double>(limits_.replay_seconds));
  if (dead_.outcome == Outcome::returned) {
    clock_->stop(listener_.last(), dead_);
  }
  return dead_;
}

Replay HostSession::wait(std::chrono::duration<double> patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(
        deadline - std::chrono::steady_clock::now());
    switch (listener_.wait(left, process_->descriptor(), cancelled_)) {
      case Listener::Event::timeout:
        process_->kill();
        return {
            Outcome::timeout, {}, {}, fmt::format("still running after {:g} s", patience.count())};
      case Listener::Event::ended:
        return ended();
      case Listener::Event::stopped:
        break;
    }
    if (const auto verdict = decide(listener_.last())) {
      if (verdict->outcome != Outcome::returned) {
        process_->kill();
      }
      return *verdict;
    }
  }
}

Replay HostSession::ended() {
  const auto exit = process_->wait(std::chrono::seconds{5});
  if (!exit) {
    throw Error(ErrorCode::executor_lost, "the executor vanished");
  }
  if (!exit->known) {
    throw Error(ErrorCode::executor_lost,
                "the executor ended, and how cannot be known, because this process ignores SIGCHLD "
                "or waits for any child: let it do neither");
  }
  // SIGSYS comes from the second filter. SIGSEGV here means that the handler could not run.
  if (exit->signal == SIGSYS) {
    return {Outcome::forbidden_syscall, {}, {}, "asked the kernel for sendmsg or seccomp"};
  }
  if (exit->signal == SIGKILL) {
    throw Error(ErrorCode::executor_lost,
                "the executor was killed from outside, perhaps for want of memory");
  }
  return {Outcome::fault,
          {},
          {},
          fmt::format("died of signal {} ({})", exit->signal, strsignal(exit->signal))};
}

std::unique_ptr<Session> open_host_session(const HostPlan& plan, std::shared_ptr<const Arena> arena,
                                           const Limits& limits, std::function<bool()> cancelled) {
  return std::make_unique<HostSession>(plan, std::move(arena), limits, std::move(cancelled));
}

}  // namespace host

namespace {

class HostExecutor final : public Executor {
 public:
  HostExecutor(const Limits& limits, std::function<bool()> cancelled)
      : limits_(limits), cancelled_(std::move(cancelled)) {}

  std::unique_ptr<Session> open(const HostPlan& plan, std::shared_ptr<const Arena> arena) override {
    return host::open_host_session(plan, std::move(arena), limits_, cancelled_);
  }

 private:
  Limits limits_;
  std::function<bool()> cancelled_;
};

}  // namespace

Session::~Session() = default;
Executor::~Executor() = default;

std::unique_ptr<Executor> make_host_executor(const Limits& limits,
                                             std::function<bool()> cancelled) {
  return std::make_unique<HostExecutor>(limits, std::move(cancelled));
}

std::string_view to_string(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::returned:
      return "returned";
    case Outcome::fault:
      return "fault";
    case Outcome::forbidden_syscall:
      return "forbidden_syscall";
    case Outcome::exited:
      return "exited";
    case Outcome::timeout:
      return "timeout";
    case Outcome::out_of_memory:
      return "out_of_memory";
    case Outcome::load_failed:
      return "load_failed";
    case Outcome::tampered:
      return "tampered";
  }
  return "unknown";
}

Isolation probe_isolation() {
  // The smallest program that is sure to exist is our own: without descriptors it ends at once.
  const auto program = sandbox::find_helper("ouroboros-executor");
  sandbox::Request request;
  request.command = {program.string()};
  request.readable = sandbox::system_folders();
  request.readable.push_back(program);
  request.pid_namespace = true;
  const sandbox::Process process(request);
  return process.isolation();
}

}  // namespace ouroboros
