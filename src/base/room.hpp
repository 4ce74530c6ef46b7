#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace ouroboros {

/// Whether this process can have so many bytes more now.
///
/// For what cannot be caught when it fails: the loader ends a process in which a thread's own data
/// finds no memory.
[[nodiscard]] inline bool has_room(std::size_t bytes) noexcept {
  void* probe = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return probe != MAP_FAILED && munmap(probe, bytes) == 0;
}

}  // namespace ouroboros
