#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

#include "ouroboros/calibration.hpp"
#include "ouroboros/cuda_executor.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros {
namespace {

namespace fs = std::filesystem;

/// A new boot may bring another driver, other clocks, other neighbours.
std::string boot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

/// Empty where there is no home.
fs::path folder() {
  if (const char* chosen = std::getenv("OUROBOROS_CACHE"); chosen != nullptr && *chosen != '\0') {
    return chosen;
  }
  if (const char* base = std::getenv("XDG_CACHE_HOME");
      base != nullptr && fs::path(base).is_absolute()) {
    return fs::path(base) / "ouroboros";
  }
  const char* home = std::getenv("HOME");
  return home == nullptr ? fs::path() : fs::path(home) / ".cache" / "ouroboros";
}

std::optional<Calibration> read(const fs::path& path) {
  std::ifstream file(path);
  if (!file) {
    return std::nullopt;
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    return Calibration::from_json(text);
  } catch (const Error&) {
    return std::nullopt;  // Of another version, or cut short: measured again.
  }
}

/// A reader finds all of it or nothing.
void write(const fs::path& path, const std::string& text) {
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  const fs::path part = path.string() + fmt::format(".{}", getpid());
  if (std::ofstream file(part); file << text && file.flush()) {
    fs::rename(part, path, ignored);
  }
  fs::remove(part, ignored);
}

}  // namespace

Calibration calibration(CudaExecutor& executor, bool fresh) {
  static std::mutex mutex;
  static auto* const known = new std::map<std::string, Calibration>;
  const auto& device = executor.device();
  const auto name =
      fmt::format("calibration-{}-{}-{}.json", device.uuid, device.driver_version, boot());
  const std::lock_guard guard(mutex);
  if (const auto found = known->find(name); found != known->end() && !fresh) {
    return found->second;
  }
  const auto path = folder().empty() ? fs::path() : folder() / name;
  std::optional<Calibration> stored = path.empty() || fresh ? std::nullopt : read(path);
  if (!stored) {
    stored = executor.calibrate();
    if (!path.empty()) {
      write(path, stored->to_json(1));
    }
  }
  return (*known)[name] = *stored;
}

}  // namespace ouroboros
