#pragma once

#include <filesystem>

namespace ouroboros::trace {

/// A folder that goes with everything in it, whatever a candidate has made of it.
class Scratch {
 public:
  /// Makes it below `parent`, or where the system keeps temporary files. Throws `Error{io}`.
  explicit Scratch(const std::filesystem::path& parent);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace ouroboros::trace
