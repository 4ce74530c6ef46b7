#include "compile/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>

#include "ouroboros/error.hpp"
#include "sandbox/folder.hpp"

namespace ouroboros::compile {
namespace {

using Clock = std::chrono::steady_clock;

std::string environment_variable(const char* name, const std::string& value) {
  return std::string(name) + "=" + value;
}

}  // namespace

void ScratchFolder::require_space(std::uint64_t bytes) const {
  std::error_code failure;
  const auto space = std::filesystem::space(path(), failure);
  // Some network file systems say that they have no capacity at all.
  const auto room = space.available + sandbox::bytes_below(path());
  if (!failure && space.capacity != 0 && room < bytes) {
    throw Error(ErrorCode::io,
                fmt::format("the file system of {} has {} MiB left, and a compilation may need "
                            "{}: free some, or point Options::scratch or TMPDIR elsewhere",
                            path().parent_path().string(), room / mib, bytes / mib));
  }
}

void ScratchFolder::write(const char* name, const std::string& text) const {
  std::ofstream file(path() / name, std::ios::binary);
  file << text;
  file.close();
  if (!file) {
    throw Error(ErrorCode::io, fmt::format("{} cannot be written: the scratch folder's file "
                                           "system is full or read-only",
                                           (path() / name).string()));
  }
}

sandbox::Request sandboxed(const std::filesystem::path& compiler, const ScratchFolder& scratch,
                           const Limits& limits) {
  sandbox::Request request;
  request.command = {compiler.string()};
  request.environment = {"LC_ALL=C", "PATH=/usr/local/bin:/usr/bin:/bin",
                         environment_variable("TMPDIR", scratch.path().string())};
  request.folder = scratch.path();
  request.readable = sandbox::system_folders();
  // A compiler outside the system's folders brings its own: PREFIX/bin/c++ reads PREFIX.
  request.readable.push_back(compiler.parent_path().parent_path());
  request.writable = {scratch.path(), "/dev/null"};
  request.limits = {{"address_space", static_cast<std::uint64_t>(limits.compile_memory_mib) * mib},
                    {"file_size", static_cast<std::uint64_t>(limits.image_mib) * mib},
                    {"cpu_seconds", static_cast<std::uint64_t>(limits.compile_seconds) + 1},
                    {"processes", static_cast<std::uint64_t>(limits.compile_processes)},
                    {"open_files", 256}};
  request.pid_namespace = true;
  return request;
}

std::optional<sandbox::Exit> run(sandbox::Request request, double seconds, std::size_t log_bytes,
                                 const std::function<bool()>& cancelled, std::string& log) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(ErrorCode::io, std::string("a pipe cannot be made: ") + std::strerror(errno));
  }
  sandbox::Descriptor output(ends[0]);
  sandbox::Descriptor input(ends[1]);
  request.descriptors = {{input.get(), 1}, {input.get(), 2}};
  const auto cpu_limit = request.limits.find("cpu_seconds");
  sandbox::Process process(request);
  input.reset();

  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  bool open = true;
  while (open) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      return std::nullopt;  // The process and its descendants go with this scope.
    }
    if (cancelled && cancelled()) {
      throw Error(ErrorCode::cancelled, "cancelled while a candidate was compiled");
    }
    pollfd ready{output.get(), POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(std::min<long>(left.count(), 50))) > 0) {
      std::array<char, 4096> chunk;
      const ssize_t count = read(output.get(), chunk.data(), chunk.size());
      open = count > 0;
      if (open && log.size() < log_bytes) {
        log.append(chunk.data(), std::min(static_cast<std::size_t>(count), log_bytes - log.size()));
      }
    }
  }
  const auto exit =
      process.wait(std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now()));
  if (exit && exit->signal == SIGKILL) {
    // To the first process of a pid namespace nobody in there sends this: the kernel does when its
    // processor time is spent, or somebody outside.
    if (cpu_limit != request.limits.end() &&
        exit->cpu_seconds >= static_cast<double>(cpu_limit->second)) {
      return std::nullopt;
    }
    throw Error(ErrorCode::executor_lost,
                "the compiler was killed from outside, perhaps for want of memory");
  }
  return exit;
}

std::string version_line(sandbox::Request request, const Limits& limits,
                         const std::function<bool()>& cancelled) {
  static std::mutex mutex;
  static std::map<std::vector<std::string>, std::string> known;
  const std::lock_guard lock(mutex);
  auto& version = known[request.command];
  if (version.empty()) {
    std::string text;
    static_cast<void>(run(std::move(request), limits.compile_seconds, 4 * kib, cancelled, text));
    version = text.substr(0, text.find('\n'));
  }
  return version;
}

std::vector<std::byte> read_image(const std::filesystem::path& path, std::uint64_t limit) {
  // The folder was the compiler's to write: follow no link, wait for no pipe, and read no more than
  // is allowed.
  const sandbox::Descriptor file(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) > limit) {
    return {};
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = read(file.get(), bytes.data() + done, bytes.size() - done);
    if (count <= 0) {
      return {};
    }
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

std::string without_folder(std::string log, const std::filesystem::path& folder) {
  const std::string prefix = folder.string() + "/";
  for (std::size_t at = log.find(prefix); at != std::string::npos; at = log.find(prefix, at)) {
    log.erase(at, prefix.size());
  }
  return log;
}

}  // namespace ouroboros::compile
