#include "executor/cuda/main/mapped.hpp"

#include <cstring>

namespace ouroboros::cuda {

Mapped::Mapped(const Device& device, std::size_t bytes) : device_(device) {
  const auto& driver = device.driver();
  driver.check(driver.cuMemHostAlloc(&memory_, bytes, host_memory_mapped), "cuMemHostAlloc");
  std::memset(memory_, 0, bytes);
  if (const int status = driver.cuMemHostGetDevicePointer(&address_, memory_, 0);
      status != status_success) {
    driver.cuMemFreeHost(memory_);
    driver.check(status, "cuMemHostGetDevicePointer");
  }
}

Mapped::~Mapped() { device_.driver().cuMemFreeHost(memory_); }

}  // namespace ouroboros::cuda
