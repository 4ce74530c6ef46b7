#include "ouroboros/cache.hpp"

namespace ouroboros {

std::string_view to_string(Cache cache) noexcept {
  switch (cache) {
    case Cache::cold:
      return "cold";
    case Cache::dirty:
      return "dirty";
    case Cache::hot:
      return "hot";
    case Cache::rotated:
      return "rotated";
  }
  return "unknown";
}

}  // namespace ouroboros
