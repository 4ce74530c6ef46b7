#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "executor/cuda/main/device.hpp"
#include "sandbox/descriptor.hpp"

namespace ouroboros::cuda {

/// One buffer of a call as the referee has it.
struct ArenaBuffer {
  std::uint64_t at = 0;     ///< Of its pages, in the arena.
  std::uint64_t pages = 0;  ///< Bytes of its pages.
  std::uint64_t bytes = 0;  ///< Of its elements.
  std::uint64_t high = 0;   ///< Distance of the first element from the pages' start, placed high.
  bool output = false;
};

/// The referee's memory, from which inputs come and to which outputs go.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// Enqueues a copy of a part of the arena to the device.
  virtual void copy_in(std::uint64_t at, std::uint64_t bytes, Address to) = 0;

  /// Enqueues, or makes, a copy of device memory to the arena.
  virtual void copy_out(Address from, std::uint64_t bytes, std::uint64_t at) = 0;

  /// Waits until all copies are made. Afterwards no kernel can reach the arena.
  virtual void finish() = 0;

 protected:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
};

/// Parts of a file, which is the host's memory.
class HostExchange final : public Exchange {
 public:
  /// Maps the pages of `buffers`; those of inputs read-only.
  HostExchange(Device& device, int file, const std::vector<ArenaBuffer>& buffers);
  ~HostExchange() override;

  void copy_in(std::uint64_t at, std::uint64_t bytes, Address to) override;
  void copy_out(Address from, std::uint64_t bytes, std::uint64_t at) override;
  void finish() override;

 private:
  struct Part {
    std::uint64_t at = 0;
    std::span<std::byte> bytes;
  };
  [[nodiscard]] std::byte* find(std::uint64_t at) const;
  void unmap() noexcept;

  Device& device_;
  std::vector<Part> parts_;
};

/// Memory on the device, which the referee shares. It is mapped while copies are made and at no
/// other time, at an address that changes.
class DeviceExchange final : public Exchange {
 public:
  DeviceExchange(Device& device, const sandbox::Descriptor& memory, std::uint64_t bytes);
  ~DeviceExchange() override;

  void copy_in(std::uint64_t at, std::uint64_t bytes, Address to) override;
  void copy_out(Address from, std::uint64_t bytes, std::uint64_t at) override;
  void finish() override;

 private:
  Address open();
  void close() noexcept;

  Device& device_;
  std::uint64_t bytes_;
  PhysicalHandle pages_ = 0;
  Address begin_ = 0;  ///< 0 while it is not mapped.
};

}  // namespace ouroboros::cuda
