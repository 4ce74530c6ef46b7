#include "sandbox/main/namespaces.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace ouroboros::sandbox {
namespace {

bool write_file(const char* path, const std::string& text) {
  const int descriptor = open(path, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return false;
  }
  const bool written =
      write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(descriptor);
  return written;
}

// Inside, the process is "nobody": a program that it executes keeps no capability of the namespace.
bool map_to_nobody(uid_t uid, gid_t gid) {
  return write_file("/proc/self/setgroups", "deny") &&
         write_file("/proc/self/uid_map", "65534 " + std::to_string(uid) + " 1") &&
         write_file("/proc/self/gid_map", "65534 " + std::to_string(gid) + " 1");
}

}  // namespace

Namespaces enter_namespaces(bool pid) {
  Namespaces result;
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  if (unshare(CLONE_NEWUSER) != 0) {
    result.missing.push_back(std::string("no user namespace: ") + std::strerror(errno));
  } else if (!map_to_nobody(uid, gid)) {
    result.missing.push_back(std::string("the user namespace could not be mapped: ") +
                             std::strerror(errno));
  } else {
    result.entered.emplace_back("user");
  }
  constexpr std::pair<int, const char*> kinds[] = {
      {CLONE_NEWNET, "net"}, {CLONE_NEWIPC, "ipc"}, {CLONE_NEWUTS, "uts"}, {CLONE_NEWPID, "pid"}};
  for (const auto& [flag, name] : kinds) {
    if (flag == CLONE_NEWPID && !pid) {
      continue;
    }
    if (unshare(flag) == 0) {
      result.entered.emplace_back(name);
    } else {
      result.missing.push_back(std::string("no ") + name + " namespace: " + std::strerror(errno));
    }
  }
  return result;
}

}  // namespace ouroboros::sandbox
