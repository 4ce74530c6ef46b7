#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "executor/cuda/driver.hpp"

namespace ouroboros::cuda {

using Clock = std::chrono::steady_clock;

/// What is known of a device without making a context on it.
nlohmann::json describe_device(const Driver& driver, int ordinal);

/// Where so much memory is free, who still lacks some asked for more than a device has, and no
/// other program is to blame.
inline constexpr std::size_t plenty_bytes = std::size_t{2} << 30;

/// A kernel went past its time.
struct KernelHangs {};

struct DestroyEvent {
  const Driver* driver;
  void operator()(EventHandle event) const noexcept { driver->cuEventDestroy(event); }
};
using Event = std::unique_ptr<std::remove_pointer_t<EventHandle>, DestroyEvent>;

/// One device with this process' only context, a stream and another one beside it, and our own
/// kernels.
class Device {
 public:
  Device(const Driver& driver, int ordinal);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] const Driver& driver() const noexcept { return driver_; }
  [[nodiscard]] StreamHandle stream() const noexcept { return stream_; }
  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }
  [[nodiscard]] std::size_t granule() const noexcept { return granule_; }
  [[nodiscard]] unsigned multiprocessors() const noexcept { return multiprocessors_; }
  [[nodiscard]] std::size_t l2_bytes() const noexcept { return l2_bytes_; }
  [[nodiscard]] unsigned shared_bytes() const noexcept { return shared_bytes_; }
  [[nodiscard]] std::size_t free_bytes() const;
  [[nodiscard]] const nlohmann::json& description() const noexcept { return description_; }

  [[nodiscard]] Event make_event() const;
  void record(const Event& event) const;

  /// Waits for an event. Throws `KernelHangs` after `deadline`, `DriverError` after a fault.
  void wait(const Event& event, Clock::time_point deadline) const;

  /// Waits for everything that is in the stream.
  void wait(Clock::time_point deadline) const;

  [[nodiscard]] double microseconds(const Event& start, const Event& stop) const;

  /// Enqueues one of our own kernels.
  template <typename... Arguments>
  void launch(const char* name, unsigned grid, unsigned block, unsigned shared,
              Arguments... arguments) const {
    void* parameters[] = {static_cast<void*>(&arguments)..., nullptr};
    launch_own(stream_, name, grid, block, shared, parameters);
  }

  /// The same beside the stream, which does not wait for it.
  template <typename... Arguments>
  void launch_aside(const char* name, unsigned grid, unsigned block, Arguments... arguments) const {
    void* parameters[] = {static_cast<void*>(&arguments)..., nullptr};
    launch_own(aside_, name, grid, block, 0, parameters);
  }

  /// Enqueues any kernel, which takes `parameters` or `extra`. `what`: its name in an error.
  void launch(const LaunchConfiguration& configuration, FunctionHandle kernel, void** parameters,
              void** extra, const char* what) const;

  /// How many kernels have been launched, those that the driver copies and fills by included.
  [[nodiscard]] std::uint64_t launched() const noexcept { return launched_; }

  /// Enqueues a copy to the device; `from` may go at once. A copy outside of the stream would not
  /// be over when a kernel in it begins.
  void upload(Address to, const void* from, std::size_t bytes) const;

  /// Enqueues a copy within the device. Returns the driver's status.
  [[nodiscard]] int copy(Address to, Address from, std::size_t bytes) const;

  /// Enqueues filling memory with `count` times the low `width` bytes of `value`: 1, 2 or 4.
  /// Returns the driver's status.
  [[nodiscard]] int fill(Address to, std::uint32_t value, unsigned width, std::size_t count) const;

  /// What kernels and copies may do at mapped addresses. Nothing may be running.
  void allow(Address begin, std::size_t bytes, Access access) const;

  /// Whole granules of physical memory. Some of it is kept for the next who asks.
  PhysicalHandle take_pages(std::size_t bytes);
  void give_pages(PhysicalHandle pages, std::size_t bytes) noexcept;

 private:
  void load(const char* ptx, std::span<const char* const> names);
  void trim() noexcept;
  void launch_own(StreamHandle stream, const char* name, unsigned grid, unsigned block,
                  unsigned shared, void** parameters) const;

  const Driver& driver_;
  int ordinal_;
  nlohmann::json description_;
  StreamHandle stream_ = nullptr;
  StreamHandle aside_ = nullptr;
  Event fence_;
  std::size_t granule_ = 0;
  unsigned multiprocessors_ = 0;
  std::size_t l2_bytes_ = 0;
  unsigned shared_bytes_ = 0;
  std::map<std::string, FunctionHandle> kernels_;
  std::multimap<std::size_t, PhysicalHandle> spare_;
  std::size_t spare_bytes_ = 0;
  mutable std::uint64_t launched_ = 0;
};

}  // namespace ouroboros::cuda
