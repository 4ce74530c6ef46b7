#pragma once

#include <cstddef>
#include <memory>

#include "executor/cuda/main/device.hpp"

namespace ouroboros::cuda {

/// A few words of the host's memory, or several times as many, that kernels see at an address of
/// the device's.
template <typename Words>
class HostWords {
 public:
  explicit HostWords(const Device& device, std::size_t count = 1) : device_(device) {
    const auto& driver = device.driver();
    void* memory = nullptr;
    driver.check(driver.cuMemHostAlloc(&memory, count * sizeof(Words), host_memory_mapped),
                 "cuMemHostAlloc");
    words_ = std::uninitialized_value_construct_n(static_cast<Words*>(memory), count) - count;
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
  const volatile Words& operator[](std::size_t i) const noexcept { return words_[i]; }

 private:
  const Device& device_;
  volatile Words* words_ = nullptr;
  Address address_ = 0;
};

}  // namespace ouroboros::cuda
