#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "referee/stages.hpp"

namespace ouroboros::referee {
namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

// What a case keeps for each input element, at the least: two copies in its dtype, and two in
// float64 for the oracle.
constexpr double copies = 2.0;
constexpr double oracle_bytes = 2.0 * sizeof(double);

double bytes_needed(const Problem& problem, const judge::CaseSpec& spec) {
  double bytes = 0;
  for (const auto& input : judge::input_buffers(problem, spec.dtype, spec.axes)) {
    double elements = 1;
    for (const auto extent : input.shape) {
      elements *= static_cast<double>(extent);
    }
    bytes += elements * (copies * static_cast<double>(size_of(input.dtype)) + oracle_bytes);
  }
  return bytes;
}

/// A number that a file of the kernel's gives; infinite where there is none.
double number_in(const char* path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? value : std::numeric_limits<double>::infinity();
}

double bytes_available() {
  double available = std::numeric_limits<double>::infinity();
  std::ifstream file("/proc/meminfo");
  std::string key;
  for (std::string line; file >> key && std::getline(file, line);) {
    if (key == "MemAvailable:") {
      available = std::stod(line) * 1024.0;
    }
  }
  // A container's own bound, as it sees it.
  return std::min(available, number_in("/sys/fs/cgroup/memory.max"));
}

}  // namespace

void require_memory(const Problem& problem, const judge::CaseSpec& spec) {
  const double needed = bytes_needed(problem, spec);
  // Asking the system costs more than most cases do.
  if (needed < gib / 4) {
    return;
  }
  const double available = bytes_available();
  if (needed > available) {
    std::string axes;
    for (const auto& [name, value] : spec.axes) {
      axes += fmt::format("{}{}={}", axes.empty() ? "" : ", ", name, value);
    }
    throw Error(ErrorCode::out_of_memory,
                fmt::format("the shape ({}) needs at least {:.3g} GiB, and {:.3g} GiB are left: "
                            "give the problem a smaller one",
                            axes, needed / gib, available / gib));
  }
}

}  // namespace ouroboros::referee
