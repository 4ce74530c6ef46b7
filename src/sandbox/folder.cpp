#include "sandbox/folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sandbox/descriptor.hpp"

namespace ouroboros::sandbox {
namespace {

constexpr int as_folder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// What the kernel writes for an entry; the name follows. No header has it.
struct Entry {
  std::uint64_t inode;
  std::int64_t next;
  std::uint16_t bytes;
  std::uint8_t kind;
};
constexpr std::size_t name_offset = 19;
static_assert(offsetof(Entry, kind) + 1 == name_offset);

/// Calls `visit` with the name of each entry. `readdir` would allocate.
template <typename Visit>
void for_each_name(int folder, const Visit& visit) {
  alignas(Entry) std::array<char, 8192> buffer;
  for (;;) {
    const long count = syscall(SYS_getdents64, folder, buffer.data(), buffer.size());
    if (count <= 0) {
      return;
    }
    for (long at = 0; at < count;) {
      const char* entry = buffer.data() + at;
      std::uint16_t bytes = 0;
      std::memcpy(&bytes, entry + offsetof(Entry, bytes), sizeof bytes);
      const char* name = entry + name_offset;
      if (std::strcmp(name, ".") != 0 && std::strcmp(name, "..") != 0) {
        visit(name);
      }
      at += bytes;
    }
  }
}

/// Opens a folder below another, which may be closed to its owner.
Descriptor open_below(int folder, const char* name) noexcept {
  Descriptor opened(openat(folder, name, as_folder));
  struct stat status{};
  // Not through the name alone: it may be a link.
  if (!opened && errno == EACCES && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISDIR(status.st_mode) && fchmodat(folder, name, S_IRWXU, 0) == 0) {
    opened = Descriptor(openat(folder, name, as_folder));
  }
  if (opened) {
    fchmod(opened.get(), S_IRWXU);
  }
  return opened;
}

/// Removes what is in the folder `top`. Folders in its folders move up to it, so that a tree of any
/// depth takes no more than two descriptors. Returns whether anything was there that went or moved.
class Removal {
 public:
  explicit Removal(int top) noexcept : top_(top) {}

  bool operator()() {
    changed_ = false;
    lseek(top_, 0, SEEK_SET);
    for_each_name(top_, [this](const char* name) { remove(name); });
    return changed_;
  }

 private:
  void remove(const char* name) {
    if (unlinkat(top_, name, 0) == 0) {
      changed_ = true;
      return;
    }
    if (const Descriptor inner = open_below(top_, name)) {
      for_each_name(inner.get(), [&](const char* below) {
        changed_ |= unlinkat(inner.get(), below, 0) == 0 || lift(inner.get(), below);
      });
    }
    changed_ |= unlinkat(top_, name, AT_REMOVEDIR) == 0;
  }

  bool lift(int from, const char* name) {
    static_cast<void>(open_below(from, name));  // Only what may be written moves elsewhere.
    constexpr int patience = 1000;              // Names may be taken.
    for (int i = 0; i < patience; ++i) {
      std::array<char, 32> fresh{};
      std::snprintf(fresh.data(), fresh.size(), ".lifted-%llu", lifted_++);
      if (renameat(from, name, top_, fresh.data()) == 0) {
        return true;
      }
      if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) {
        return false;
      }
    }
    return false;
  }

  int top_;
  bool changed_ = false;
  unsigned long long lifted_ = 0;
};

}  // namespace

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  if (const Descriptor opened{open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)}) {
    for_each_name(opened.get(), [&names](const char* name) { names.emplace_back(name); });
  }
  return names;
}

std::uint64_t bytes_below(const std::filesystem::path& folder) {
  std::uint64_t bytes = 0;
  std::vector<std::filesystem::path> left = {folder};
  while (!left.empty()) {
    const auto next = std::move(left.back());
    left.pop_back();
    for (const auto& name : names_in(next)) {
      struct stat status{};
      auto path = next / name;
      if (lstat(path.c_str(), &status) != 0) {
        continue;
      }
      if (S_ISREG(status.st_mode)) {
        bytes += static_cast<std::uint64_t>(status.st_size);
      } else if (S_ISDIR(status.st_mode)) {
        left.push_back(std::move(path));
      }
    }
  }
  return bytes;
}

void remove_tree(const std::filesystem::path& folder) noexcept {
  if (const Descriptor top = open_below(AT_FDCWD, folder.c_str())) {
    Removal removal(top.get());
    while (removal()) {
    }
  }
  unlinkat(AT_FDCWD, folder.c_str(), AT_REMOVEDIR);
}

}  // namespace ouroboros::sandbox
