#pragma once

#include <new>

#include "executor/cuda/main/device.hpp"

namespace ouroboros::cuda {

/// A few words of the host's memory that kernels see at an address of the device's.
template <typename Words>
class HostWords {
 public:
  explicit HostWords(const Device& device) : device_(device) {
    const auto& driver = device.driver();
    void* memory = nullptr;
    driver.check(driver.cuMemHostAlloc(&memory, sizeof(Words), host_memory_mapped),
                 "cuMemHostAlloc");
    words_ = new (memory) Words;
    if (const int status = driver.cuMemHostGetDevicePointer(&address_, memory, 0);
        status != status_success) {
      driver.cuMemFreeHost(memory);
      driver.check(status, "cuMemHostGetDevicePointer");
    }
  }
  ~HostWords() { device_.driver().cuMemFreeHost(const_cast<Words*>(words_)); }
  HostWords(const HostWords&) = delete;
  HostWords& operator=(const HostWords&) = delete;

  [[nodiscard]] Address address() const noexcept { return address_; }
  volatile Words* operator->() noexcept { return words_; }
  const volatile Words* operator->() const noexcept { return words_; }

 private:
  const Device& device_;
  volatile Words* words_ = nullptr;
  Address address_ = 0;
};

}  // namespace ouroboros::cuda
