#include "sandbox/main/landlock.hpp"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace ouroboros::sandbox {
namespace {

// The kernel's structure grew with its ABI; distributions' headers lag behind the kernels that
// they run on. The kernel accepts a longer structure whose unknown tail is zero.
struct RulesetAttributes {
  std::uint64_t handled_access_fs = 0;
  std::uint64_t handled_access_net = 0;
  std::uint64_t scoped = 0;
};

constexpr std::uint64_t fs_rights_abi1 = (std::uint64_t{1} << 13) - 1;
constexpr std::uint64_t fs_refer = std::uint64_t{1} << 13;      // ABI 2
constexpr std::uint64_t fs_truncate = std::uint64_t{1} << 14;   // ABI 3
constexpr std::uint64_t fs_ioctl_dev = std::uint64_t{1} << 15;  // ABI 5
constexpr std::uint64_t net_bind_connect_tcp = 3;               // ABI 4
constexpr std::uint64_t scope_abstract_socket_and_signal = 3;   // ABI 6

constexpr std::uint64_t read_rights =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t file_rights = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
                                      LANDLOCK_ACCESS_FS_WRITE_FILE | fs_truncate | fs_ioctl_dev;

bool allow(int ruleset, const std::string& path, std::uint64_t rights) {
  const int descriptor = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (descriptor < 0) {
    return errno == ENOENT;
  }
  struct stat status{};
  landlock_path_beneath_attr rule{};
  rule.parent_fd = descriptor;
  rule.allowed_access = rights;
  if (fstat(descriptor, &status) == 0 && !S_ISDIR(status.st_mode)) {
    rule.allowed_access &= file_rights;
  }
  const long result = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  close(descriptor);
  return result == 0;
}

}  // namespace

int restrict_files(const std::vector<std::string>& readable,
                   const std::vector<std::string>& writable, std::string& problem) {
  const long abi =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (abi < 1) {
    problem = std::string("Landlock is not available (") + std::strerror(errno) +
              "): the file system is not restricted";
    return 0;
  }
  RulesetAttributes attributes;
  attributes.handled_access_fs = fs_rights_abi1 | (abi >= 2 ? fs_refer : 0) |
                                 (abi >= 3 ? fs_truncate : 0) | (abi >= 5 ? fs_ioctl_dev : 0);
  std::size_t size = sizeof(std::uint64_t);
  if (abi >= 4) {
    attributes.handled_access_net = net_bind_connect_tcp;
    size = 2 * sizeof(std::uint64_t);
  }
  if (abi >= 6) {
    attributes.scoped = scope_abstract_socket_and_signal;
    size = sizeof attributes;
  }
  const int ruleset = static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size, 0));
  if (ruleset < 0) {
    problem = std::string("a Landlock rule set could not be made: ") + std::strerror(errno);
    return 0;
  }
  bool complete = true;
  for (const auto& path : readable) {
    complete = allow(ruleset, path, read_rights & attributes.handled_access_fs) && complete;
  }
  for (const auto& path : writable) {
    complete = allow(ruleset, path, attributes.handled_access_fs) && complete;
  }
  const bool restricted = complete && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  if (!restricted) {
    problem = std::string("Landlock rules could not be put in force: ") + std::strerror(errno);
  }
  close(ruleset);
  return restricted ? static_cast<int>(abi) : 0;
}

}  // namespace ouroboros::sandbox
