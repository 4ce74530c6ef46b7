#pragma once

#include <filesystem>
#include <string>

#include "ouroboros/api.hpp"

namespace ouroboros {

/// A source to be judged.
struct OUROBOROS_API Candidate {
  std::string source;
  std::string name = "candidate";  ///< For messages and records only.
  std::string language = "cpp";    ///< "cpp" is the one language of the host executor.

  /// Reads a candidate from a file; its name is the file's. Throws `Error{io}`.
  [[nodiscard]] static Candidate from_file(const std::filesystem::path& path);
};

}  // namespace ouroboros
