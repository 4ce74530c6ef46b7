#include "sandbox/scratch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>

#include "ouroboros/error.hpp"
#include "sandbox/folder.hpp"

namespace ouroboros::sandbox {
namespace {

constexpr std::string_view pattern = "ouroboros-XXXXXX";
constexpr std::string_view prefix = pattern.substr(0, pattern.find('X'));

/// Between a folder's making and its locking it looks abandoned.
constexpr std::time_t seconds_until_abandoned = 600;

std::filesystem::path base_of(const std::filesystem::path& parent) {
  std::error_code failure;
  const auto base = parent.empty() ? std::filesystem::temp_directory_path(failure) : parent;
  const auto resolved = std::filesystem::canonical(base, failure);
  return failure ? base : resolved;
}

std::filesystem::path make(const std::filesystem::path& base, const char* option) {
  std::string name = (base / pattern).string();
  if (mkdtemp(name.data()) == nullptr) {
    throw Error(ErrorCode::io,
                fmt::format("no scratch folder can be made in {}: {}; point {} or TMPDIR to a "
                            "writable folder",
                            base.string(), std::strerror(errno), option));
  }
  try {
    return name;
  } catch (...) {
    rmdir(name.c_str());
    throw;
  }
}

Descriptor open_folder(const std::filesystem::path& path) noexcept {
  return Descriptor(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool lock(const Descriptor& folder) noexcept { return flock(folder.get(), LOCK_EX | LOCK_NB) == 0; }

bool is_abandoned(const Descriptor& folder) noexcept {
  struct stat status{};
  return folder && fstat(folder.get(), &status) == 0 && status.st_uid == geteuid() &&
         status.st_mtime + seconds_until_abandoned < std::time(nullptr) && lock(folder);
}

}  // namespace

Scratch::Scratch(const std::filesystem::path& parent, const char* option) {
  const auto base = base_of(parent);
  static std::once_flag first;
  std::call_once(first, remove_abandoned, base);
  path_ = make(base, option);
  held_ = open_folder(path_);
  if (!held_) {
    const int reason = errno;
    rmdir(path_.c_str());
    throw Error(ErrorCode::io, fmt::format("the scratch folder {} cannot be opened: {}",
                                           path_.string(), std::strerror(reason)));
  }
  lock(held_);  // A file system that cannot lock refuses others' locks as well.
}

Scratch::~Scratch() { remove_tree(path_); }

void remove_abandoned(const std::filesystem::path& parent) noexcept {
  try {
    for (const auto& name : names_in(parent)) {
      if (name.size() == pattern.size() && name.starts_with(prefix) &&
          is_abandoned(open_folder(parent / name))) {
        remove_tree(parent / name);
      }
    }
  } catch (const std::exception&) {
    // What lies about is no reason to fail: the next process tries again.
  }
}

}  // namespace ouroboros::sandbox
