#include "referee/processor_lease.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

namespace ouroboros::referee {
namespace {

sandbox::Descriptor open_lock(int cpu) {
  std::error_code failure;
  const auto folder = std::filesystem::temp_directory_path(failure);
  const auto path = folder / ("ouroboros-cpu-" + std::to_string(cpu) + ".lock");
  sandbox::Descriptor file(
      open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (file) {
    fchmod(file.get(), 0666);  // Other users queue too. Fails where the file is not ours.
  }
  return file;
}

}  // namespace

ProcessorLease::ProcessorLease() {
  pthread_getaffinity_np(pthread_self(), sizeof before_, &before_);
  std::vector<int> allowed;
  // From the highest down: interrupts and other programs tend to the lowest.
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0; --cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &before_)) {
      allowed.push_back(cpu);
    }
  }
  cpu_ = allowed.empty() ? 0 : allowed.front();
  for (const int cpu : allowed) {
    auto lock = open_lock(cpu);
    if (lock && flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
      cpu_ = cpu;
      lock_ = std::move(lock);
      break;
    }
  }
  if (!lock_) {
    auto lock = open_lock(cpu_);
    if (lock && flock(lock.get(), LOCK_EX) == 0) {
      lock_ = std::move(lock);
    }
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(cpu_), &one);
  pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

ProcessorLease::~ProcessorLease() {
  pthread_setaffinity_np(pthread_self(), sizeof before_, &before_);
}

}  // namespace ouroboros::referee
