#include "executor/cuda/main/device.hpp"

#include <fmt/format.h>

#include <thread>

#include "executor/cuda/main/kernels.hpp"
#include "executor/cuda/main/seal_kernel.hpp"

namespace ouroboros::cuda {
namespace {

// Device-side printf works, but cannot fill the machine.
constexpr std::size_t printf_bytes = 64 << 10;

// Making and releasing pages costs more than mapping them. Other programs want memory too.
constexpr std::size_t most_spare_bytes = std::size_t{1} << 30;

// An H200's driver fills 66 KiB by a kernel, and 2 KiB not; in between nobody has looked. It copies
// 256 bytes by one already.
constexpr std::size_t least_filled_by_a_kernel = std::size_t{16} << 10;

constexpr const char* own_kernels[] = {
    "ouroboros_read",     "ouroboros_canary", "ouroboros_fill_on_chip", "ouroboros_empty",
    "ouroboros_touch",    "ouroboros_stamp",  "ouroboros_gate",         "ouroboros_step",
    "ouroboros_sentinel", "ouroboros_spin"};

int attribute(const Driver& driver, int which, int device) {
  int value = 0;
  driver.check(driver.cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

/// Of what only describes a device: 0 where the driver does not say.
int optional_attribute(const Driver& driver, int which, int device) {
  int value = 0;
  return driver.cuDeviceGetAttribute(&value, which, device) == status_success ? value : 0;
}

}  // namespace

nlohmann::json describe_device(const Driver& driver, int ordinal) {
  int device = 0;
  driver.check(driver.cuDeviceGet(&device, ordinal), "cuDeviceGet");
  char name[128] = {};
  driver.check(driver.cuDeviceGetName(name, sizeof name - 1, device), "cuDeviceGetName");
  std::size_t memory = 0;
  driver.check(driver.cuDeviceTotalMem(&memory, device), "cuDeviceTotalMem");
  return {{"ordinal", ordinal},
          {"name", name},
          {"target", fmt::format("sm_{}{}", attribute(driver, attribute_capability_major, device),
                                 attribute(driver, attribute_capability_minor, device))},
          {"uuid", uuid_of(driver, device)},
          {"multiprocessors", attribute(driver, attribute_multiprocessors, device)},
          {"memory_bytes", memory},
          {"free_bytes", 0},
          {"l2_bytes", attribute(driver, attribute_l2_bytes, device)},
          {"shared_optin_bytes", attribute(driver, attribute_shared_optin, device)},
          {"memory_clock_khz", optional_attribute(driver, attribute_memory_clock_khz, device)},
          {"memory_bus_bits", optional_attribute(driver, attribute_memory_bus_bits, device)},
          {"driver_version", driver.version},
          {"pageable_access", attribute(driver, attribute_pageable_access, device) != 0}};
}

Device::Device(const Driver& driver, int ordinal) : driver_(driver), ordinal_(ordinal) {
  int count = 0;
  driver.check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (ordinal < 0 || ordinal >= count) {
    throw NoDriver(fmt::format("there is no CUDA device {}: the machine has {}", ordinal, count));
  }
  int device = 0;
  driver.check(driver.cuDeviceGet(&device, ordinal), "cuDeviceGet");
  if (attribute(driver, attribute_virtual_memory, device) == 0) {
    throw NoDriver(fmt::format("CUDA device {} has no virtual memory management", ordinal));
  }
  description_ = describe_device(driver, ordinal);
  multiprocessors_ = description_["multiprocessors"];
  l2_bytes_ = description_["l2_bytes"];
  shared_bytes_ = description_["shared_optin_bytes"];

  ContextHandle context = nullptr;
  driver.check(driver.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  driver.check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  driver.check(driver.cuCtxSetLimit(limit_printf_fifo, printf_bytes), "cuCtxSetLimit");
  // The audit refuses modules that use the device's heap. A driver may keep a least size of it.
  driver.cuCtxSetLimit(limit_malloc_heap, 0);
  // No lines may persist in the L2 cache. Devices without such lines refuse the limit.
  driver.cuCtxSetLimit(limit_persisting_l2, 0);
  constexpr unsigned non_blocking = 1;
  for (auto* stream : {&stream_, &aside_}) {
    driver.check(driver.cuStreamCreate(stream, non_blocking), "cuStreamCreate");
  }
  fence_ = make_event();
  AllocationProperties properties;
  properties.location.id = ordinal;
  driver.check(driver.cuMemGetAllocationGranularity(&granule_, &properties, 0),
               "cuMemGetAllocationGranularity");
  description_["free_bytes"] = free_bytes();

  load(kernels_ptx, own_kernels);
  load(hindrance_ptx, {{"ouroboros_hinder"}});
  load(seal_kernel_ptx().c_str(), {{"ouroboros_seal"}});
  driver.check(driver.cuFuncSetAttribute(kernels_["ouroboros_fill_on_chip"],
                                         function_dynamic_shared, static_cast<int>(shared_bytes_)),
               "cuFuncSetAttribute");
}

void Device::load(const char* ptx, std::span<const char* const> names) {
  ModuleHandle module = nullptr;
  driver_.check(driver_.cuModuleLoadData(&module, ptx), "loading the executor's kernels");
  for (const char* name : names) {
    driver_.check(driver_.cuModuleGetFunction(&kernels_[name], module, name), name);
  }
}

std::size_t Device::free_bytes() const {
  std::size_t available = 0;
  std::size_t total = 0;
  driver_.check(driver_.cuMemGetInfo(&available, &total), "cuMemGetInfo");
  return available;
}

Event Device::make_event() const {
  EventHandle event = nullptr;
  driver_.check(driver_.cuEventCreate(&event, 0), "cuEventCreate");
  return Event(event, {&driver_});
}

void Device::record(const Event& event) const {
  driver_.check(driver_.cuEventRecord(event.get(), stream_), "cuEventRecord");
}

void Device::wait(const Event& event, Clock::time_point deadline) const {
  // Most kernels are short: ask without pause at first, then leave the processor to others.
  const auto patient = Clock::now() + std::chrono::milliseconds{2};
  for (;;) {
    const int status = driver_.cuEventQuery(event.get());
    if (status != status_not_ready) {
      driver_.check(status, "the kernel");
      return;
    }
    const auto now = Clock::now();
    if (now > deadline) {
      throw KernelHangs{};
    }
    if (now > patient) {
      std::this_thread::sleep_for(std::chrono::microseconds{50});
    }
  }
}

void Device::wait(Clock::time_point deadline) const {
  record(fence_);
  wait(fence_, deadline);
}

double Device::microseconds(const Event& start, const Event& stop) const {
  float milliseconds = 0;
  driver_.check(driver_.cuEventElapsedTime(&milliseconds, start.get(), stop.get()),
                "cuEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e3;
}

void Device::launch_own(StreamHandle stream, const char* name, unsigned grid, unsigned block,
                        unsigned shared, void** parameters) const {
  LaunchConfiguration configuration;
  configuration.grid[0] = grid;
  configuration.block[0] = block;
  configuration.shared_bytes = shared;
  configuration.stream = stream;
  launch(configuration, kernels_.at(name), parameters, nullptr, name);
}

void Device::launch(const LaunchConfiguration& configuration, FunctionHandle kernel,
                    void** parameters, void** extra, const char* what) const {
  driver_.check(driver_.cuLaunchKernelEx(&configuration, kernel, parameters, extra), what);
  ++launched_;
}

void Device::upload(Address to, const void* from, std::size_t bytes) const {
  if (bytes != 0) {
    driver_.check(driver_.cuMemcpyHtoDAsync(to, from, bytes, stream_), "copying to the device");
  }
}

int Device::copy(Address to, Address from, std::size_t bytes) const {
  ++launched_;
  return driver_.cuMemcpyDtoDAsync(to, from, bytes, stream_);
}

int Device::fill(Address to, std::uint32_t value, unsigned width, std::size_t count) const {
  launched_ += width * count >= least_filled_by_a_kernel ? 1 : 0;
  if (width == 4) {
    return driver_.cuMemsetD32Async(to, value, count, stream_);
  }
  return width == 2
             ? driver_.cuMemsetD16Async(to, static_cast<unsigned short>(value), count, stream_)
             : driver_.cuMemsetD8Async(to, static_cast<unsigned char>(value), count, stream_);
}

void Device::allow(Address begin, std::size_t bytes, Access access) const {
  AccessDescription description;
  description.location.id = ordinal_;
  description.access = access;
  driver_.check(driver_.cuMemSetAccess(begin, bytes, &description, 1), "cuMemSetAccess");
}

PhysicalHandle Device::take_pages(std::size_t bytes) {
  if (const auto found = spare_.find(bytes); found != spare_.end()) {
    const auto pages = found->second;
    spare_.erase(found);
    spare_bytes_ -= bytes;
    return pages;
  }
  AllocationProperties properties;
  properties.location.id = ordinal_;
  PhysicalHandle pages = 0;
  int status = driver_.cuMemCreate(&pages, bytes, &properties, 0);
  if (status == status_out_of_memory && !spare_.empty()) {
    trim();
    status = driver_.cuMemCreate(&pages, bytes, &properties, 0);
  }
  if (status == status_out_of_memory) {
    throw DriverError(status, fmt::format("{} MiB of GPU memory cannot be had, {} MiB are free",
                                          bytes >> 20, free_bytes() >> 20));
  }
  driver_.check(status, "cuMemCreate");
  return pages;
}

void Device::give_pages(PhysicalHandle pages, std::size_t bytes) noexcept {
  if (spare_bytes_ + bytes > most_spare_bytes) {
    driver_.cuMemRelease(pages);
    return;
  }
  try {
    spare_.emplace(bytes, pages);
    spare_bytes_ += bytes;
  } catch (...) {
    driver_.cuMemRelease(pages);
  }
}

void Device::trim() noexcept {
  for (const auto& [bytes, pages] : spare_) {
    driver_.cuMemRelease(pages);
  }
  spare_.clear();
  spare_bytes_ = 0;
}

}  // namespace ouroboros::cuda
