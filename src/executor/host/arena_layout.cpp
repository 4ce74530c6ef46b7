#include "executor/host/arena_layout.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ouroboros/error.hpp"

namespace ouroboros {
namespace {

constexpr std::size_t alignment_bytes = 64;  // What docs/abi.md promises.

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

Arena::Layout::Layout(std::vector<Call> calls) : calls_(std::move(calls)) {
  audit(HostPlan{{}, calls_});
  span_bytes_ = host::guard_bytes;
  for (const auto& call : calls_) {
    first_region_.push_back(regions_.size());
    for (const auto& buffer : call.buffers) {
      const auto bytes =
          std::max<std::uint64_t>(round_up(buffer.bytes(), host::page_bytes), host::page_bytes);
      regions_.push_back({file_bytes_, span_bytes_, bytes, buffer.role == BufferRole::output});
      file_bytes_ += bytes;
      span_bytes_ += bytes + host::guard_bytes;
    }
  }
  file_bytes_ = std::max<std::uint64_t>(file_bytes_, host::page_bytes);
  file_ = sandbox::Descriptor(memfd_create("ouroboros-arena", MFD_CLOEXEC));
  if (!file_ || ftruncate(file_.get(), static_cast<off_t>(file_bytes_)) != 0) {
    throw Error(ErrorCode::out_of_memory, fmt::format("{} bytes of shared memory cannot be had: {}",
                                                      file_bytes_, std::strerror(errno)));
  }
  void* mapping = mmap(nullptr, file_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (mapping == MAP_FAILED) {
    throw Error(ErrorCode::out_of_memory, fmt::format("{} bytes of buffers cannot be mapped: {}",
                                                      file_bytes_, std::strerror(errno)));
  }
  mapping_ = static_cast<std::byte*>(mapping);
}

Arena::Layout::~Layout() {
  if (mapping_ != nullptr) {
    munmap(mapping_, file_bytes_);
  }
}

const host::Region& Arena::Layout::region(std::size_t call, std::size_t buffer) const {
  if (call >= calls_.size() || buffer >= calls_[call].buffers.size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there is no buffer {} in call {}", buffer, call));
  }
  return regions_[first_region_[call] + buffer];
}

std::byte* Arena::Layout::pages(const host::Region& region) const noexcept {
  return mapping_ + region.arena_offset;
}

std::size_t Arena::Layout::offset(std::size_t call, std::size_t buffer, Placement placement) const {
  const auto& pages = region(call, buffer);
  return placement == Placement::low
             ? 0
             : pages.bytes - round_up(calls_[call].buffers[buffer].bytes(), alignment_bytes);
}

}  // namespace ouroboros
