#pragma once

#include <cstdint>
#include <vector>

#include "executor/cuda/driver.hpp"
#include "ouroboros/device_arena.hpp"
#include "sandbox/descriptor.hpp"

namespace ouroboros {

/// One physical allocation, mapped here, with a descriptor by which another process can map it.
class DeviceArena::Memory {
 public:
  Memory(Call call, const std::string& uuid, const std::string& libcuda, std::size_t sets);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] const Call& call() const noexcept { return call_; }
  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }
  [[nodiscard]] bool on_host() const noexcept { return on_host_; }
  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t sets() const noexcept { return sets_; }
  [[nodiscard]] std::uint64_t offset(std::size_t buffer, std::size_t set) const {
    return set * set_bytes_ + offsets_.at(buffer);
  }
  [[nodiscard]] cuda::Address begin() const noexcept { return begin_; }

 private:
  void find_device(const std::string& uuid);
  void allocate();
  void free() noexcept;

  const cuda::Driver& driver_;
  Call call_;
  std::vector<std::uint64_t> offsets_;
  std::size_t sets_;
  std::uint64_t set_bytes_ = 0;
  std::uint64_t bytes_ = 0;
  int device_ = 0;
  int ordinal_ = 0;
  bool on_host_ = false;
  cuda::PhysicalHandle pages_ = 0;
  cuda::Address begin_ = 0;
  sandbox::Descriptor file_;
};

}  // namespace ouroboros
