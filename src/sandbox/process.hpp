#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ouroboros/executor.hpp"
#include "sandbox/descriptor.hpp"

namespace ouroboros::sandbox {

/// A program to run in a sandbox.
struct Request {
  std::vector<std::string> command;              ///< Absolute path of the program, arguments.
  std::vector<std::string> environment;          ///< "NAME=value"; nothing else is inherited.
  std::filesystem::path folder = "/";            ///< Working folder.
  std::vector<std::filesystem::path> readable;   ///< May be read and executed.
  std::vector<std::filesystem::path> writable;   ///< May be changed.
  std::map<std::string, std::uint64_t> limits;   ///< Names as in `ouroboros-sandbox --limit`.
  std::vector<std::pair<int, int>> descriptors;  ///< Ours, and its number in the child.
  bool pid_namespace = false;                    ///< For programs that start others.
};

/// How a process ended.
struct Exit {
  int code = 0;            ///< Exit status; meaningful when `signal` is 0.
  int signal = 0;          ///< The signal that ended it.
  bool known = true;       ///< False when another part of this process took the kernel's report.
  double cpu_seconds = 0;  ///< Of it and of those that it waited for; 0 when unknown.
};

/// A sandboxed process, alone with its descendants in a process group. Killed as a tree when this
/// object goes.
class Process {
 public:
  /// Starts a program and waits until it has been executed. Throws `Error` when that fails.
  explicit Process(const Request& request);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// The program's process id: below the sandbox's own process when there is a pid namespace.
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  /// Becomes readable when the process has ended.
  [[nodiscard]] int descriptor() const noexcept { return pidfd_.get(); }

  [[nodiscard]] const Isolation& isolation() const noexcept { return isolation_; }

  /// Waits for the end; empty when time ran out first.
  std::optional<Exit> wait(std::chrono::nanoseconds timeout);

  /// Ends the process and all its descendants, and reaps it.
  void kill() noexcept;

 private:
  void read_report(int descriptor);
  void reap() noexcept;

  pid_t leader_ = -1;
  pid_t pid_ = -1;
  Descriptor pidfd_;
  std::optional<Exit> exit_;
  Isolation isolation_;
};

/// Finds one of this library's helper programs: in $OUROBOROS_LIBEXEC, then beside the library.
/// Throws `Error{not_found}` that lists where it looked.
std::filesystem::path find_helper(const std::string& name);

/// The first processes of all that this process runs in sandboxes now. What each started descends
/// from it.
std::vector<pid_t> leaders();

/// Counts a process among them that is not in a sandbox, as those of Python's that trace baselines.
void add_leader(pid_t leader);
void remove_leader(pid_t leader) noexcept;

/// Folders that any dynamically linked program needs to read.
std::vector<std::filesystem::path> system_folders();

/// Device files of NVIDIA's driver.
std::vector<std::filesystem::path> nvidia_devices();

}  // namespace ouroboros::sandbox
