#include "executor/cuda/main/exchange.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "executor/cuda/main/range.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::cuda {
namespace {

constexpr auto patience = std::chrono::seconds{60};

}  // namespace

HostExchange::HostExchange(Device& device, int file, const std::vector<ArenaBuffer>& buffers)
    : device_(device) {
  for (const auto& buffer : buffers) {
    const int protection = buffer.output ? PROT_READ | PROT_WRITE : PROT_READ;
    void* mapping = mmap(nullptr, buffer.pages, protection, MAP_SHARED | MAP_POPULATE, file,
                         static_cast<off_t>(buffer.at));
    if (mapping == MAP_FAILED) {
      const int reason = errno;
      unmap();
      throw Error(ErrorCode::out_of_memory,
                  fmt::format("{} bytes of the arena cannot be mapped: {}", buffer.pages,
                              std::strerror(reason)));
    }
    parts_.push_back({buffer.at, {static_cast<std::byte*>(mapping), buffer.pages}});
  }
}

HostExchange::~HostExchange() { unmap(); }

void HostExchange::unmap() noexcept {
  for (const auto& part : parts_) {
    munmap(part.bytes.data(), part.bytes.size());
  }
}

std::byte* HostExchange::find(std::uint64_t at) const {
  for (const auto& part : parts_) {
    if (at >= part.at && at - part.at < part.bytes.size()) {
      return part.bytes.data() + (at - part.at);
    }
  }
  throw Error(ErrorCode::internal, fmt::format("byte {} of the arena is no buffer's", at));
}

void HostExchange::copy_in(std::uint64_t at, std::uint64_t bytes, Address to) {
  device_.upload(to, find(at), bytes);
}

void HostExchange::copy_out(Address from, std::uint64_t bytes, std::uint64_t at) {
  if (bytes != 0) {
    const auto& driver = device_.driver();
    driver.check(driver.cuMemcpyDtoH(find(at), from, bytes), "copying from the device");
  }
}

void HostExchange::finish() { device_.wait(Clock::now() + patience); }

DeviceExchange::DeviceExchange(Device& device, const sandbox::Descriptor& memory,
                               std::uint64_t bytes)
    : device_(device), bytes_(bytes) {
  const auto& driver = device.driver();
  const auto file = static_cast<std::intptr_t>(memory.get());
  driver.check(driver.cuMemImportFromShareableHandle(&pages_, reinterpret_cast<void*>(file),
                                                     handle_file_descriptor),
               "cuMemImportFromShareableHandle");
}

DeviceExchange::~DeviceExchange() {
  close();
  device_.driver().cuMemRelease(pages_);
}

void DeviceExchange::begin() {
  const auto& driver = device_.driver();
  driver.check(driver.cuMemAddressReserve(&first_, bytes_, 0, random_address(device_.granule()), 0),
               "cuMemAddressReserve");
  driver.check(driver.cuMemMap(first_, bytes_, 0, pages_, 0), "cuMemMap");
  device_.allow(first_, bytes_, Access::read_write);
}

void DeviceExchange::close() noexcept {
  if (first_ != 0) {
    const auto& driver = device_.driver();
    driver.cuMemUnmap(first_, bytes_);
    driver.cuMemAddressFree(first_, bytes_);
    first_ = 0;
  }
}

void DeviceExchange::copy_in(std::uint64_t at, std::uint64_t bytes, Address to) {
  if (bytes != 0) {
    device_.driver().check(device_.copy(to, first_ + at, bytes), "copying inputs");
  }
}

void DeviceExchange::copy_out(Address from, std::uint64_t bytes, std::uint64_t at) {
  if (bytes != 0) {
    device_.driver().check(device_.copy(first_ + at, from, bytes), "copying outputs");
  }
}

void DeviceExchange::finish() {
  device_.wait(Clock::now() + patience);
  close();
}

}  // namespace ouroboros::cuda
