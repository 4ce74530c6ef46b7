#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "referee/stages.hpp"

namespace ouroboros::referee {
namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

// What a case keeps for each element of its inputs and results: one in its dtype, and of results
// two in float64, the true value and what is allowed. While these are learnt there are some runs of
// the oracle more. Results are taken to be as large as the largest of what is given and made on the
// way: too much for a sum of many, since the kernel's answer to too little is to end this process.
constexpr double kept_bytes = 2.0 * sizeof(double);
constexpr double learning_bytes = 4.0 * sizeof(double);

struct Bytes {
  double kept = 0;
  double learning = 0;
};

Bytes bytes_of(const Problem& problem, const judge::CaseSpec& spec, const judge::Growth& growth) {
  double inputs = 0;
  double results = growth.largest(spec.axes);
  for (const auto& input : judge::input_buffers(problem, spec.dtype, spec.axes)) {
    double elements = 1;
    for (const auto extent : input.shape) {
      elements *= static_cast<double>(extent);
    }
    inputs += elements * static_cast<double>(size_of(input.dtype));
    results = std::max(results, elements);
  }
  const auto width = static_cast<double>(size_of(spec.dtype));
  return {inputs + results * (width + kept_bytes), results * learning_bytes};
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

void require_memory(const Problem& problem, std::span<const judge::CaseSpec> specs,
                    const judge::Growth& growth) {
  double needed = 0;
  const judge::CaseSpec* largest = nullptr;
  Bytes most;
  for (const auto& spec : specs) {
    const auto bytes = bytes_of(problem, spec, growth);
    needed += bytes.kept;
    if (largest == nullptr || bytes.learning > most.learning) {
      largest = &spec;
      most = bytes;
    }
  }
  needed += most.learning;
  // Asking the system costs more than most cases do.
  if (needed < gib / 4) {
    return;
  }
  const double available = bytes_available();
  if (needed > available) {
    std::string axes;
    for (const auto& [name, value] : largest->axes) {
      axes += fmt::format("{}{}={}", axes.empty() ? "" : ", ", name, value);
    }
    const auto which =
        specs.size() == 1
            ? fmt::format("the shape ({}) needs", axes)
            : fmt::format("{} cases, the largest of the shape ({}), need", specs.size(), axes);
    throw Error(ErrorCode::out_of_memory,
                fmt::format("{} about {:.3g} GiB, and {:.3g} GiB are left: "
                            "give the problem a smaller one",
                            which, needed / gib, available / gib));
  }
}

}  // namespace ouroboros::referee
