#include "executor/cuda/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

namespace ouroboros::cuda {

std::string driver_path(const std::string& chosen) {
  const char* configured = std::getenv("OUROBOROS_LIBCUDA");
  return !chosen.empty() ? chosen : configured != nullptr ? configured : "libcuda.so.1";
}

Driver::Driver(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    throw NoDriver(fmt::format("there is no NVIDIA driver: {}", why != nullptr ? why : path));
  }
  // The version first: a driver that is too old lacks functions, and should be called too old.
  cuDriverGetVersion =
      reinterpret_cast<decltype(cuDriverGetVersion)>(dlsym(library, "cuDriverGetVersion"));
  if (cuDriverGetVersion == nullptr || cuDriverGetVersion(&version) != status_success) {
    throw NoDriver(fmt::format("{} is not the NVIDIA driver's library", path));
  }
  if (version < oldest_driver) {
    throw NoDriver(fmt::format(
        "the NVIDIA driver supports CUDA {}.{}; {}.{} is needed: update the driver", version / 1000,
        version % 1000 / 10, oldest_driver / 1000, oldest_driver % 1000 / 10));
  }
#define OUROBOROS_LOAD(field, symbol, parameters)                        \
  field = reinterpret_cast<decltype(field)>(dlsym(library, #symbol));    \
  if (field == nullptr) {                                                \
    throw NoDriver(fmt::format("{} has no function {}", path, #symbol)); \
  }
  OUROBOROS_CUDA_DRIVER(OUROBOROS_LOAD)
#undef OUROBOROS_LOAD
  if (const int status = cuInit(0); status != status_success) {
    throw NoDriver("the NVIDIA driver could not be initialised: " + describe(status));
  }
}

std::string Driver::describe(int status) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName(status, &name) != status_success || name == nullptr) {
    return fmt::format("CUDA error {}", status);
  }
  if (cuGetErrorString(status, &text) != status_success || text == nullptr) {
    text = "no description";
  }
  return fmt::format("CUDA error {} ({}): {}", status, name, text);
}

void Driver::check(int status, const char* what) const {
  if (status != status_success) {
    throw DriverError(status, fmt::format("{} failed: {}", what, describe(status)));
  }
}

std::string uuid_of(const Driver& driver, int device) {
  Uuid uuid{};
  driver.check(driver.cuDeviceGetUuid(&uuid, device), "cuDeviceGetUuid");
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    text +=
        fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid.bytes[i]);
  }
  return text;
}

}  // namespace ouroboros::cuda
