#include "sandbox/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <sstream>

#include "ouroboros/error.hpp"
#include "sandbox/protocol.hpp"

namespace ouroboros::sandbox {
namespace {

constexpr int report_descriptor = 3;

// Since Linux 6.15; distributions' headers lag behind the kernels that they run on.
struct PidfdInfo {
  std::uint64_t mask = 0;
  std::uint64_t cgroup = 0;
  std::uint32_t ids[11] = {};
  std::int32_t exit_status = 0;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr std::uint64_t pidfd_info_exit = 1U << 3;
constexpr unsigned long pidfd_get_info = _IOWR(0xFF, 11, PidfdInfo);
constexpr std::chrono::seconds start_timeout{10};

std::vector<std::string> sandbox_command(const Request& request) {
  std::vector<std::string> command = {find_helper("ouroboros-sandbox").string(), "--report",
                                      std::to_string(report_descriptor)};
  const auto add = [&command](const char* option, const std::string& value) {
    command.emplace_back(option);
    command.push_back(value);
  };
  for (const auto& path : request.readable) {
    add("--read", path.string());
  }
  for (const auto& path : request.writable) {
    add("--write", path.string());
  }
  for (const auto& [name, value] : request.limits) {
    add("--limit", name + "=" + std::to_string(value));
  }
  if (request.pid_namespace) {
    command.emplace_back("--pid-namespace");
  }
  command.emplace_back("--");
  command.insert(command.end(), request.command.begin(), request.command.end());
  return command;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (auto& text : strings) {
    result.push_back(text.data());
  }
  result.push_back(nullptr);
  return result;
}

/// posix_spawn's descriptor moves. Sources are first lifted above all targets, because a target of
/// one move may be the source of another.
class FileActions {
 public:
  explicit FileActions(const std::vector<std::pair<int, int>>& moves) {
    posix_spawn_file_actions_init(&actions_);
    int highest = 2;
    for (const auto& move : moves) {
      highest = std::max(highest, move.second);
    }
    for (const auto& [source, target] : moves) {
      lifted_.emplace_back(fcntl(source, F_DUPFD_CLOEXEC, highest + 1));
      if (!lifted_.back()) {
        throw Error(ErrorCode::io, std::string("descriptors cannot be duplicated: ") +
                                       std::strerror(errno) + "; raise the limit of open files");
      }
      posix_spawn_file_actions_adddup2(&actions_, lifted_.back().get(), target);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions_, highest + 1);
  }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
  std::vector<Descriptor> lifted_;
};

/// A process group of its own and default signals: the referee's process may ignore or block some.
class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  posix_spawnattr_t* get() { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

Exit decode(int status) {
  return WIFSIGNALED(status) ? Exit{0, WTERMSIG(status)} : Exit{WEXITSTATUS(status), 0};
}

/// How a process ended that somebody else has waited for.
Exit exit_of_reaped(int pidfd) noexcept {
  PidfdInfo info;
  info.mask = pidfd_info_exit;
  const bool told = ioctl(pidfd, pidfd_get_info, &info) == 0 && (info.mask & pidfd_info_exit) != 0;
  return told ? decode(info.exit_status) : Exit{0, 0, false};
}

/// The leaders of this process' sandboxes, from their start until they are reaped.
class Leaders {
 public:
  void add(pid_t leader) {
    const std::lock_guard guard(mutex_);
    ids_.insert(leader);
  }
  void remove(pid_t leader) noexcept {
    const std::lock_guard guard(mutex_);
    ids_.erase(leader);
  }
  [[nodiscard]] std::vector<pid_t> all() {
    const std::lock_guard guard(mutex_);
    return {ids_.begin(), ids_.end()};
  }

 private:
  std::mutex mutex_;
  std::set<pid_t> ids_;
};

/// Never destroyed: processes may end while this one does.
Leaders& running() {
  static auto* const leaders = new Leaders;
  return *leaders;
}

}  // namespace

std::vector<pid_t> leaders() { return running().all(); }
void add_leader(pid_t leader) { running().add(leader); }
void remove_leader(pid_t leader) noexcept { running().remove(leader); }

Process::Process(const Request& request) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error(ErrorCode::io, std::string("a socket cannot be made: ") + std::strerror(errno));
  }
  Descriptor report(ends[0]);
  Descriptor report_end(ends[1]);
  Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));

  auto moves = request.descriptors;
  for (int standard : {0, 1, 2}) {
    const auto given = [standard](const auto& move) { return move.second == standard; };
    if (std::none_of(moves.begin(), moves.end(), given)) {
      moves.emplace_back(null.get(), standard);
    }
  }
  moves.emplace_back(report_end.get(), report_descriptor);

  auto command = sandbox_command(request);
  auto environment = request.environment;
  int result = 0;
  {
    FileActions actions(moves);  // Holds copies of all descriptors, the report's end included.
    posix_spawn_file_actions_addchdir_np(actions.get(), request.folder.c_str());
    Attributes attributes;
    result = posix_spawn(&leader_, command.front().c_str(), actions.get(), attributes.get(),
                         pointers(command).data(), pointers(environment).data());
  }
  if (result != 0) {
    leader_ = -1;
    throw Error(ErrorCode::sandbox_unavailable,
                command.front() + " could not be started: " + std::strerror(result));
  }
  pidfd_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, leader_, 0)));
  running().add(leader_);
  report_end.reset();
  try {
    if (!pidfd_) {
      throw Error(ErrorCode::sandbox_unavailable, std::string("pidfd_open failed: ") +
                                                      std::strerror(errno) +
                                                      "; a Linux kernel of 5.9 or later is needed");
    }
    // Until now it waited: where nobody waits for children, a quick one would be gone already.
    send(report.get(), &go_ahead, 1, MSG_NOSIGNAL);
    read_report(report.get());
  } catch (...) {
    kill();
    throw;
  }
}

Process::~Process() { kill(); }

void Process::read_report(int descriptor) {
  const auto deadline = std::chrono::steady_clock::now() + start_timeout;
  std::string text;
  char chunk[1024];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd ready{descriptor, POLLIN, 0};
    const int polled = poll(&ready, 1, static_cast<int>(std::max<long>(left.count(), 0)));
    if (polled < 0 && errno == EINTR) {
      continue;
    }
    if (polled <= 0 || text.size() > 64 * sizeof chunk) {
      throw Error(ErrorCode::sandbox_unavailable, "the sandbox did not start in time");
    }
    const ssize_t count = read(descriptor, chunk, sizeof chunk);
    if (count <= 0) {
      break;
    }
    text.append(chunk, static_cast<std::size_t>(count));
  }

  std::istringstream lines(text);
  std::string line;
  isolation_.no_new_privileges = true;
  isolation_.process_group = true;
  isolation_.runs_as_root = geteuid() == 0;
  while (std::getline(lines, line)) {
    const auto space = line.find(' ');
    const std::string key = line.substr(0, space);
    const std::string value = space == std::string::npos ? "" : line.substr(space + 1);
    if (key == report_namespace) {
      isolation_.namespaces.push_back(value);
    } else if (key == report_landlock) {
      isolation_.landlock_abi = std::atoi(value.c_str());
    } else if (key == report_limits) {
      isolation_.resource_limits = true;
    } else if (key == report_missing) {
      isolation_.missing.push_back(value);
    } else if (key == report_child) {
      pid_ = static_cast<pid_t>(std::atol(value.c_str()));
    } else if (key == report_error) {
      throw Error(ErrorCode::sandbox_unavailable, "the sandbox failed: " + value);
    }
  }
  if (pid_ <= 0) {
    throw Error(ErrorCode::sandbox_unavailable, "the sandbox ended without a report");
  }
  isolation_.level = isolation_.missing.empty() ? "sandboxed" : "degraded";
}

std::optional<Exit> Process::wait(std::chrono::nanoseconds timeout) {
  if (exit_) {
    return exit_;
  }
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd ready{pidfd_.get(), POLLIN, 0};
    const int polled = poll(&ready, 1, static_cast<int>(std::max<long>(left.count(), 0)));
    if (polled < 0 && errno == EINTR) {
      continue;
    }
    if (polled <= 0) {
      return std::nullopt;
    }
    break;
  }
  reap();
  return exit_;
}

// Unless this process ignores SIGCHLD or waits for any child elsewhere, the leader is not reaped
// yet, so that neither its id nor its group's can belong to anyone else.
void Process::reap() noexcept {
  ::kill(-leader_, SIGKILL);
  running().remove(leader_);
  int status = 0;
  rusage usage{};
  pid_t waited = 0;
  do {
    waited = wait4(leader_, &status, 0, &usage);
  } while (waited < 0 && errno == EINTR);
  exit_ = waited == leader_ ? decode(status) : exit_of_reaped(pidfd_.get());
  exit_->cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void Process::kill() noexcept {
  if (leader_ > 0 && !exit_) {
    if (pidfd_) {
      syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
    } else {
      ::kill(leader_, SIGKILL);
    }
    reap();
  }
}

}  // namespace ouroboros::sandbox
