#include "ouroboros/candidate.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

#include "ouroboros/error.hpp"

namespace ouroboros {
namespace {

std::string language_of(const std::filesystem::path& path) {
  const auto suffix = path.extension();
  if (suffix == ".cu") return "cuda";
  if (suffix == ".ptx") return "ptx";
  if (suffix == ".py") return "triton";
  return "cpp";
}

}  // namespace

Candidate Candidate::from_file(const std::filesystem::path& path) {
  std::error_code status_error;
  const std::filesystem::file_status status = std::filesystem::status(path, status_error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw Error(ErrorCode::io,
                fmt::format("Candidate file '{}' does not exist: check the path.", path.string()));
  }
  if (status_error) {
    throw Error(ErrorCode::io, fmt::format("Candidate file '{}' cannot be reached: {}.",
                                           path.string(), status_error.message()));
  }
  // A pipe or a device could block for ever or never end, so a plain file it must be.
  if (!std::filesystem::is_regular_file(status)) {
    throw Error(
        ErrorCode::io,
        fmt::format("Candidate path '{}' is {}: give the path of a source file.", path.string(),
                    std::filesystem::is_directory(status) ? "a directory" : "not a regular file"));
  }
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    throw Error(ErrorCode::io,
                fmt::format("Candidate file '{}' cannot be opened: {}.", path.string(),
                            std::error_code(errno, std::generic_category()).message()));
  }
  Candidate candidate;
  candidate.source.assign(std::istreambuf_iterator<char>(stream), {});
  if (stream.bad()) {
    throw Error(ErrorCode::io,
                fmt::format("Reading candidate file '{}' failed half-way.", path.string()));
  }
  candidate.name = path.filename().string();
  candidate.language = language_of(path);
  return candidate;
}

}  // namespace ouroboros
