#include "trace/scratch.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>

#include "ouroboros/error.hpp"

namespace ouroboros::trace {
namespace {

namespace fs = std::filesystem;

/// Opens folders that were closed to their owner; those inside are seen the next time.
bool open_folders(const fs::path& path) {
  std::error_code ignored;
  bool changed = false;
  const auto closed = [&](const fs::path& folder) {
    const auto status = fs::symlink_status(folder, ignored);
    return fs::is_directory(status) &&
           (status.permissions() & fs::perms::owner_all) != fs::perms::owner_all;
  };
  for (fs::recursive_directory_iterator
           entry(path, fs::directory_options::skip_permission_denied, ignored),
       end;
       entry != end; entry.increment(ignored)) {
    if (closed(entry->path())) {
      fs::permissions(entry->path(), fs::perms::owner_all, ignored);
      changed = changed || !ignored;
    }
  }
  return changed;
}

}  // namespace

Scratch::Scratch(const fs::path& parent) {
  std::error_code failure;
  const auto base = parent.empty() ? fs::temp_directory_path(failure) : parent;
  std::string name = (base / "ouroboros-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw Error(ErrorCode::io, fmt::format("no scratch folder can be made in {}: {}; point "
                                           "TracerOptions::scratch or TMPDIR to a writable folder",
                                           base.string(), std::strerror(errno)));
  }
  path_ = fs::canonical(name);
}

Scratch::~Scratch() {
  std::error_code failure;
  do {
    fs::remove_all(path_, failure);
  } while (failure && open_folders(path_));
}

}  // namespace ouroboros::trace
