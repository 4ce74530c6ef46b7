#pragma once

#include <filesystem>
#include <string>

#include "ouroboros/api.hpp"

namespace ouroboros {

/// A source to be judged.
struct OUROBOROS_API Candidate {
  std::string source;
  std::string name = "candidate";  ///< For messages and records only.
  /// "cpp" runs on the host; "triton", "cuda" and "ptx" on a GPU.
  std::string language = "cpp";

  /// Reads a candidate from a file; its name is the file's, and its
  /// language what the suffix says: .cu, .ptx, .py (Triton), anything else C++. Throws `Error{io}`.
  [[nodiscard]] static Candidate from_file(const std::filesystem::path& path);
};

}  // namespace ouroboros
