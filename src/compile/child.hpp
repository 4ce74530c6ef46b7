#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ouroboros/limits.hpp"
#include "sandbox/process.hpp"
#include "sandbox/scratch.hpp"

/// What all compilers share: a scratch folder, a sandbox, and a bounded log.
namespace ouroboros::compile {

inline constexpr std::uint64_t kib = 1024;
inline constexpr std::uint64_t mib = 1024 * kib;

/// A folder that compilers work in.
class ScratchFolder {
 public:
  /// Below `parent`, or below the system's folder when it is empty. Throws `Error{io}`.
  explicit ScratchFolder(const std::filesystem::path& parent)
      : scratch_(parent, "Options::scratch") {}

  [[nodiscard]] const std::filesystem::path& path() const { return scratch_.path(); }

  /// Throws when a compilation could fail for want of space and not for a fault of its source.
  /// What is in it counts as room: nobody else took it.
  void require_space(std::uint64_t bytes) const;

  void write(const char* name, const std::string& text) const;

 private:
  sandbox::Scratch scratch_;
};

/// A compiler that sees the system's folders and its scratch folder, within `limits`.
[[nodiscard]] sandbox::Request sandboxed(const std::filesystem::path& compiler,
                                         const ScratchFolder& scratch, const Limits& limits);

/// Runs a compiler and keeps the first `log_bytes` of what it says. Empty when time ran out.
/// Throws `Error{cancelled}`, and `Error{executor_lost}` when something outside killed it.
[[nodiscard]] std::optional<sandbox::Exit> run(sandbox::Request request, double seconds,
                                               std::size_t log_bytes,
                                               const std::function<bool()>& cancelled,
                                               std::string& log);

/// The first line that a command says, e.g. of `c++ --version`; asked once for each command.
/// Empty when it says nothing.
[[nodiscard]] std::string version_line(sandbox::Request request, const Limits& limits,
                                       const std::function<bool()>& cancelled);

/// What a compiler left; empty when that is no file of at most `limit` bytes.
[[nodiscard]] std::vector<std::byte> read_image(const std::filesystem::path& path,
                                                std::uint64_t limit);

/// Removes the scratch folder's name, which differs from run to run.
[[nodiscard]] std::string without_folder(std::string log, const std::filesystem::path& folder);

}  // namespace ouroboros::compile
