#include "referee/device/gpu_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <thread>

#include "referee/stages.hpp"

namespace ouroboros::referee::device {
namespace {

constexpr auto lock_poll = std::chrono::milliseconds(20);

/// A lock on a file that all referees of this machine share; empty where it cannot be had.
sandbox::Descriptor lock(const Options& options, std::string_view suffix, int operation) {
  const auto path = std::filesystem::temp_directory_path() /
                    fmt::format("ouroboros-gpu-{}.{}", options.device.ordinal, suffix);
  sandbox::Descriptor file(
      open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return {};
  }
  while (flock(file.get(), operation | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return {};
    }
    check_cancelled(options);
    std::this_thread::sleep_for(lock_poll);
  }
  return file;
}

}  // namespace

GpuLock lock_gpu(const Options& options, GpuUse use) {
  GpuLock made;
  if (use == GpuUse::replay) {
    made.replays = lock(options, "replays", LOCK_EX);
  }
  // Without it, those that share the GPU one after the other would keep out who times for good.
  const auto queue = lock(options, "queue", LOCK_EX);
  if (queue) {
    made.gpu = lock(options, "lock", use == GpuUse::time ? LOCK_EX : LOCK_SH);
  }
  return made;
}

}  // namespace ouroboros::referee::device
