#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "referee/stages.hpp"

namespace ouroboros::referee {
namespace {

// Beyond this, sizes in bytes and times in nanoseconds would overflow.
constexpr double largest_limit = 1e9;

}  // namespace

void check(const Options& options) {
  const auto& limits = options.limits;
  const std::pair<std::string_view, double> positive[] = {
      {"compile_seconds", limits.compile_seconds},
      {"compile_memory_mib", static_cast<double>(limits.compile_memory_mib)},
      {"compile_processes", static_cast<double>(limits.compile_processes)},
      {"source_kib", static_cast<double>(limits.source_kib)},
      {"image_mib", static_cast<double>(limits.image_mib)},
      {"log_kib", static_cast<double>(limits.log_kib)},
      {"load_seconds", limits.load_seconds},
      {"replay_seconds", limits.replay_seconds},
      {"heap_mib", static_cast<double>(limits.heap_mib)},
      {"stack_mib", static_cast<double>(limits.stack_mib)}};
  for (const auto& [name, value] : positive) {
    if (!(value > 0 && value <= largest_limit)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("limits.{} is {:g}: it must be above 0 and at most {:g}", name, value,
                              largest_limit));
    }
  }
  const auto& looks = options.timing.looks;
  if (looks.empty() || std::any_of(looks.begin(), looks.end(), [](int at) { return at < 1; })) {
    throw Error(ErrorCode::invalid_argument,
                "timing.looks must name at least one number of blocks, each above 0");
  }
}

}  // namespace ouroboros::referee
