#include "trace/live/arena.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>

namespace ouroboros::live {
namespace {

// Where ranges are wished for; any others will do.
constexpr Address wishes[regions] = {0x600000000000, 0x620000000000, 0x640000000000};

// A region begins somewhat into its range, so that the upper half of its addresses is no number
// that a shape has: two 32-bit numbers side by side then hardly ever look like an address.
constexpr std::uint64_t skips[regions] = {0xd05000000, 0x1707000000, 0x1d03000000};
constexpr std::uint64_t slack = 0x2000000000;

constexpr std::uint64_t step = 512;  // Alignment, and the least that an allocation takes.
constexpr std::uint64_t chunk = std::uint64_t{32} << 20;

constexpr std::uint64_t rounded(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

struct Used {
  std::uint64_t asked = 0, taken = 0;
};

struct Free {
  std::uint64_t bytes = 0;
  Handle stream = nullptr;
  bool mixed = false;  // Joined from blocks of several streams.
};

struct Region {
  Address base = 0;
  std::uint64_t top = 0;     // Bytes that were ever handed out.
  std::uint64_t mapped = 0;  // Bytes with memory behind them.
  std::map<Address, Used> used;
  std::map<Address, Free> free;
};

std::mutex mutex;
Region arena[regions];
std::uint64_t reserved = 0;
int device_index = 0;
int current = 0;

// A capture forbids calls that allocate, unless the thread says that it knows.
class CaptureAllows {
 public:
  CaptureAllows() { driver().exchange_capture_mode(&mode_); }
  ~CaptureAllows() { driver().exchange_capture_mode(&mode_); }
  CaptureAllows(const CaptureAllows&) = delete;
  CaptureAllows& operator=(const CaptureAllows&) = delete;

 private:
  int mode_ = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
};

void grow(Region& region, std::uint64_t wanted) {
  if (wanted <= region.mapped) return;
  const std::uint64_t bytes = rounded(wanted - region.mapped, chunk);
  if (region.mapped + bytes > reserved) {
    throw std::runtime_error("The traced function allocates more than the arena can hold.");
  }
  const CaptureAllows allows;
  const AllocationProperties properties{
      .type = 1, .handle_types = 0, .location = {1, device_index}, .windows = nullptr, .flags = {}};
  for (std::uint64_t done = 0; done < bytes; done += chunk) {
    const Address at = region.base + region.mapped;
    unsigned long long memory = 0;
    require(driver().create(&memory, chunk, &properties, 0), "cuMemCreate");
    const Result mapped = driver().map(at, chunk, 0, memory, 0);
    driver().release(memory);  // The mapping keeps it.
    require(mapped, "cuMemMap");
    const AccessDescription access{.location = {1, device_index}, .flags = 3};
    if (const Result result = driver().set_access(at, chunk, &access, 1)) {
      driver().unmap(at, chunk);
      require(result, "cuMemSetAccess");
    }
    region.mapped += chunk;
  }
}

void shrink(Region& region, std::uint64_t wanted) {
  const std::uint64_t kept = rounded(wanted, chunk);
  while (region.mapped > kept) {
    region.mapped -= chunk;
    require(driver().unmap(region.base + region.mapped, chunk), "cuMemUnmap");
  }
}

Address reuse(Region& region, std::uint64_t taken, Handle stream) {
  for (auto one = region.free.begin(); one != region.free.end(); ++one) {
    if (one->second.bytes < taken) continue;
    const auto [address, free] = *one;
    // Work of another stream may still use it. Outside captures, so waiting is allowed.
    if (free.mixed || free.stream != stream) require(driver().synchronize(), "cuCtxSynchronize");
    region.free.erase(one);
    if (free.bytes > taken) {
      region.free[address + taken] = {free.bytes - taken, free.stream, free.mixed};
    }
    return address;
  }
  return 0;
}

void give_back(Region& region, Address address, std::uint64_t bytes, Handle stream) {
  Free made{bytes, stream, false};
  auto next = region.free.lower_bound(address);
  const auto join = [&](const Free& other) {
    made.bytes += other.bytes;
    made.mixed |= other.mixed || other.stream != stream;
  };
  if (next != region.free.end() && next->first == address + bytes) {
    join(next->second);
    next = region.free.erase(next);
  }
  if (next != region.free.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second.bytes == address) {
      address = before->first;
      join(before->second);
      region.free.erase(before);
    }
  }
  region.free[address] = made;
}

}  // namespace

void open_arena(std::uint64_t bytes, int device) {
  const std::lock_guard lock(mutex);
  if (reserved != 0) return;
  bytes = rounded(bytes, chunk);
  for (int i = 0; i < regions; ++i) {
    Address range = 0;
    require(driver().reserve(&range, bytes + slack, 0, wishes[i], 0), "cuMemAddressReserve");
    arena[i].base = range + skips[i];
  }
  device_index = device;
  reserved = bytes;
}

void use_region(int region) {
  if (region < 0 || region >= regions) throw std::runtime_error("There is no such region.");
  const std::lock_guard lock(mutex);
  current = region;
  if (region == 0) return;
  arena[region].top = 0;
  arena[region].used.clear();
}

void trim_arena() {
  const std::lock_guard lock(mutex);
  require(driver().synchronize(), "cuCtxSynchronize");
  for (int i = 1; i < regions; ++i) {
    arena[i].top = 0;
    arena[i].used.clear();
    shrink(arena[i], 0);
  }
  Region& outside = arena[0];
  if (!outside.free.empty()) {
    const auto last = std::prev(outside.free.end());
    if (last->first + last->second.bytes == outside.base + outside.top) {
      outside.top -= last->second.bytes;
      outside.free.erase(last);
    }
  }
  shrink(outside, outside.top);
}

std::vector<Block> blocks(int region) {
  if (region < 0 || region >= regions) throw std::runtime_error("There is no such region.");
  const std::lock_guard lock(mutex);
  std::vector<Block> result;
  for (const auto& [address, used] : arena[region].used) result.push_back({address, used.asked});
  return result;
}

bool in_arena(Address address) {
  return std::any_of(std::begin(arena), std::end(arena), [&](const Region& region) {
    return address >= region.base && address < region.base + reserved;
  });
}

Address allocate(std::uint64_t bytes, Handle stream) {
  const std::lock_guard lock(mutex);
  Region& region = arena[current];
  // Two tensors never share an address, not even one's end and the other's beginning.
  const std::uint64_t taken = rounded(bytes + 1, step);
  Address address = current == 0 ? reuse(region, taken, stream) : 0;
  if (address == 0) {
    grow(region, region.top + taken);
    address = region.base + region.top;
    region.top += taken;
  }
  region.used[address] = {bytes, taken};
  return address;
}

void release(Address address, Handle stream) {
  const std::lock_guard lock(mutex);
  Region& region = arena[0];
  const auto found = region.used.find(address);
  if (found == region.used.end()) return;  // A capture's: it stays until the region is emptied.
  const std::uint64_t taken = found->second.taken;
  region.used.erase(found);
  give_back(region, address, taken, stream);
}

}  // namespace ouroboros::live
