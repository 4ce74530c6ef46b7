#include <fmt/chrono.h>
#include <sys/utsname.h>
#include <torch/version.h>

#include <chrono>
#include <fstream>
#include <string>

#include "referee/stages.hpp"

namespace ouroboros::referee {
namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("model name", 0) == 0) {
      return line.substr(line.find(':') + 2);
    }
  }
  utsname names{};
  uname(&names);
  return names.machine;
}

}  // namespace

Provenance provenance() {
  Provenance result;
  result.library_version = OUROBOROS_VERSION;
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  result.created_at = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
  result.machine = processor();
  utsname names{};
  uname(&names);
  result.kernel = std::string(names.sysname) + " " + names.release;
  result.torch_version = TORCH_VERSION;
  return result;
}

}  // namespace ouroboros::referee
