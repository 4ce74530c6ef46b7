#pragma once

#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

/// What this process has left behind, and places where it cannot leave anything.
namespace ouroboros_test {

/// Whether this process has no child, dead or alive.
inline bool has_no_children() {
  int status = 0;
  return waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD;
}

inline std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

/// The ids of this process' children whose name begins with `name`.
inline std::vector<pid_t> children(const std::string& name) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string line;
    if (!std::getline(file, line)) continue;
    const auto open = line.find('(');
    const auto close = line.rfind(')');
    // "PID (NAME) STATE PARENT ..."
    if (line.compare(open + 1, name.size(), name) == 0 &&
        std::atoi(line.c_str() + close + 4) == getpid()) {
      found.push_back(std::atoi(line.c_str()));
    }
  }
  return found;
}

/// A folder that goes with everything in it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "ouroboros-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::filesystem::path path_;
};

/// A small file system of its own, where the user may mount one.
class Mount {
 public:
  explicit Mount(unsigned long flags, const char* options = "size=256k")
      : mounted_(mount("tmpfs", folder_.path().c_str(), "tmpfs", flags, options) == 0) {}
  ~Mount() {
    if (mounted_) umount2(folder_.path().c_str(), MNT_DETACH);
  }
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;

  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

 private:
  Folder folder_;
  bool mounted_;
};

/// Ignores SIGCHLD, as some programs do, so that the kernel forgets how children ended.
class IgnoredChildren {
 public:
  IgnoredChildren() : before_(signal(SIGCHLD, SIG_IGN)) {}
  ~IgnoredChildren() { signal(SIGCHLD, before_); }
  IgnoredChildren(const IgnoredChildren&) = delete;
  IgnoredChildren& operator=(const IgnoredChildren&) = delete;

 private:
  sighandler_t before_;
};

}  // namespace ouroboros_test
