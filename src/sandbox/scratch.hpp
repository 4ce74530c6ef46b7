#pragma once

#include <filesystem>

#include "sandbox/descriptor.hpp"

namespace ouroboros::sandbox {

/// A folder that goes with everything in it, whatever a candidate has made of it. Those of
/// processes that were killed go when another process makes its first.
class Scratch {
 public:
  /// Makes it below `parent`, or where the system keeps temporary files when it is empty. Throws
  /// `Error{io}`, which tells to set `option` or TMPDIR.
  Scratch(const std::filesystem::path& parent, const char* option);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor held_;  ///< Locked as long as there is somebody to remove the folder.
};

/// Removes scratch folders below `parent` that nobody holds, and that nobody has changed for ten
/// minutes.
void remove_abandoned(const std::filesystem::path& parent) noexcept;

}  // namespace ouroboros::sandbox
