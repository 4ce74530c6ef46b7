#include "executor/cuda/device_arena.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "ouroboros/cuda_executor.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros {
namespace {

using namespace cuda;

constexpr std::uint64_t alignment = 4096;

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// A driver stays loaded once it is: contexts and threads of its own outlive every arena.
const Driver& driver_of(const std::string& libcuda) {
  static std::mutex mutex;
  static auto* const drivers = new std::map<std::string, std::unique_ptr<Driver>>;
  const auto path = driver_path(libcuda);
  const std::lock_guard guard(mutex);
  auto& driver = (*drivers)[path];
  if (!driver) {
    try {
      driver = std::make_unique<Driver>(path);
    } catch (const NoDriver& none) {
      throw Error(ErrorCode::unsupported, none.what());
    }
  }
  return *driver;
}

/// The GPU's primary context is current while this lives, on this thread.
class PrimaryContext {
 public:
  PrimaryContext(const Driver& driver, int device) : driver_(driver), device_(device) {
    driver.check(driver.cuCtxGetCurrent(&before_), "cuCtxGetCurrent");
    ContextHandle context = nullptr;
    driver.check(driver.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    driver.check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  }
  ~PrimaryContext() {
    driver_.cuCtxSetCurrent(before_);
    driver_.cuDevicePrimaryCtxRelease(device_);
  }
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

 private:
  const Driver& driver_;
  int device_;
  ContextHandle before_ = nullptr;
};

}  // namespace

DeviceArena::Memory::Memory(Call call, const std::string& uuid, const std::string& libcuda,
                            std::size_t sets)
    : driver_(driver_of(libcuda)), call_(std::move(call)), sets_(sets) {
  for (const auto& buffer : call_.buffers) {
    offsets_.push_back(set_bytes_);
    set_bytes_ += round_up(std::max<std::uint64_t>(buffer.bytes(), 1), alignment);
  }
  bytes_ = sets_ * set_bytes_;
  try {
    find_device(uuid);
    allocate();
  } catch (const DriverError& error) {
    free();
    throw Error(
        error.status == status_out_of_memory ? ErrorCode::out_of_memory : ErrorCode::unsupported,
        fmt::format("memory on the GPU cannot be shared with an executor: {}", error.what()));
  } catch (...) {
    free();
    throw;
  }
}

DeviceArena::Memory::~Memory() { free(); }

void DeviceArena::Memory::find_device(const std::string& uuid) {
  int count = 0;
  driver_.check(driver_.cuDeviceGetCount(&count), "cuDeviceGetCount");
  for (ordinal_ = 0; ordinal_ < count; ++ordinal_) {
    driver_.check(driver_.cuDeviceGet(&device_, ordinal_), "cuDeviceGet");
    if (uuid_of(driver_, device_) == uuid) {
      return;
    }
  }
  throw Error(
      ErrorCode::unsupported,
      fmt::format("this process does not see the GPU {}: CUDA_VISIBLE_DEVICES may hide it", uuid));
}

void DeviceArena::Memory::allocate() {
  const PrimaryContext context(driver_, device_);
  AllocationProperties properties;
  properties.requested_handles = handle_file_descriptor;
  properties.location.id = device_;
  std::size_t granule = 0;
  driver_.check(driver_.cuMemGetAllocationGranularity(&granule, &properties, 0),
                "cuMemGetAllocationGranularity");
  bytes_ = round_up(std::max<std::uint64_t>(bytes_, 1), granule);
  driver_.check(driver_.cuMemCreate(&pages_, bytes_, &properties, 0), "cuMemCreate");
  int file = -1;
  driver_.check(driver_.cuMemExportToShareableHandle(&file, pages_, handle_file_descriptor, 0),
                "cuMemExportToShareableHandle");
  file_ = sandbox::Descriptor(file);
  driver_.check(driver_.cuMemAddressReserve(&begin_, bytes_, 0, 0, 0), "cuMemAddressReserve");
  driver_.check(driver_.cuMemMap(begin_, bytes_, 0, pages_, 0), "cuMemMap");
  AccessDescription access;
  access.location.id = device_;
  access.access = Access::read_write;
  driver_.check(driver_.cuMemSetAccess(begin_, bytes_, &access, 1), "cuMemSetAccess");
  unsigned type = 0;
  driver_.check(driver_.cuPointerGetAttribute(&type, pointer_memory_type, begin_),
                "cuPointerGetAttribute");
  on_host_ = type == memory_type_host;
}

void DeviceArena::Memory::free() noexcept {
  // What was never made is refused, which does no harm.
  if (begin_ != 0) {
    driver_.cuMemUnmap(begin_, bytes_);
    driver_.cuMemAddressFree(begin_, bytes_);
  }
  if (pages_ != 0) {
    driver_.cuMemRelease(pages_);
  }
}

DeviceArena::DeviceArena(Call call, const CudaDevice& device, const std::string& libcuda,
                         std::size_t sets)
    : memory_(std::make_unique<Memory>(std::move(call), device.uuid, libcuda, sets)) {}
DeviceArena::~DeviceArena() = default;

const Call& DeviceArena::call() const noexcept { return memory_->call(); }
std::size_t DeviceArena::sets() const noexcept { return memory_->sets(); }
void* DeviceArena::data(std::size_t buffer, std::size_t set) const {
  return reinterpret_cast<void*>(memory_->begin() + memory_->offset(buffer, set));
}
int DeviceArena::ordinal() const noexcept { return memory_->ordinal(); }
bool DeviceArena::on_host() const noexcept { return memory_->on_host(); }
const DeviceArena::Memory& DeviceArena::memory() const noexcept { return *memory_; }

}  // namespace ouroboros
