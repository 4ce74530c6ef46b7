#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "trace/live/arena.hpp"
#include "trace/live/export.hpp"
#include "trace/live/watch.hpp"

// What python/ouroboros/trace/live.py calls through ctypes.
//
// A function that can fail returns null, or one sentence that `ouroboros_live_free` frees.
namespace {

char* copied(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

template <class Action>
char* caught(Action&& action) noexcept {
  try {
    action();
    return nullptr;
  } catch (const std::exception& error) {
    return copied(error.what());
  }
}

}  // namespace

#define OUROBOROS_LIVE_API extern "C" __attribute__((visibility("default")))

OUROBOROS_LIVE_API void ouroboros_live_free(void* text) { std::free(text); }

OUROBOROS_LIVE_API char* ouroboros_live_watch(const char* cupti) {
  return caught([&] { ouroboros::live::watch(cupti); });
}

OUROBOROS_LIVE_API char* ouroboros_live_arena_open(std::uint64_t bytes, int device) {
  return caught([&] { ouroboros::live::open_arena(bytes, device); });
}

OUROBOROS_LIVE_API char* ouroboros_live_arena_use(int region) {
  return caught([&] { ouroboros::live::use_region(region); });
}

OUROBOROS_LIVE_API char* ouroboros_live_arena_trim() {
  return caught([] { ouroboros::live::trim_arena(); });
}

/// Writes pairs of address and bytes, `most` at most; returns how many blocks there are.
OUROBOROS_LIVE_API std::uint64_t ouroboros_live_arena_blocks(int region, std::uint64_t* pairs,
                                                             std::uint64_t most) {
  std::uint64_t count = 0;
  std::free(caught([&] {
    for (const auto& block : ouroboros::live::blocks(region)) {
      if (count < most) {
        pairs[2 * count] = block.address;
        pairs[2 * count + 1] = block.bytes;
      }
      ++count;
    }
  }));
  return count;
}

/// Gives the graph as JSON in `*json`, to be freed too.
OUROBOROS_LIVE_API char* ouroboros_live_export(void* graph, char** json) {
  return caught([&] { *json = copied(ouroboros::live::export_graph(graph)); });
}

/// The bytes of an image, which stay where they are; null for an unknown one.
OUROBOROS_LIVE_API const void* ouroboros_live_image(std::uint32_t index, std::uint64_t* bytes) {
  const auto* image = ouroboros::live::image(index);
  if (image == nullptr) return nullptr;
  *bytes = image->bytes.size();
  return image->bytes.data();
}

/// PyTorch's pluggable allocator. It throws through PyTorch, which makes a Python exception of it
/// and would take a null pointer for memory.
OUROBOROS_LIVE_API void* ouroboros_live_allocate(std::int64_t bytes, int, void* stream) {
  return reinterpret_cast<void*>(
      ouroboros::live::allocate(static_cast<std::uint64_t>(bytes), stream));
}

OUROBOROS_LIVE_API void ouroboros_live_release(void* address, std::int64_t, int, void* stream) {
  std::free(caught([&] {
    ouroboros::live::release(reinterpret_cast<ouroboros::live::Address>(address), stream);
  }));
}
