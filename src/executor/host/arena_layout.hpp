#pragma once

#include <vector>

#include "executor/host/protocol.hpp"
#include "ouroboros/executor.hpp"
#include "sandbox/descriptor.hpp"

namespace ouroboros {

/// Where each buffer of each call lies: in the arena's file, and in an executor's address space.
class Arena::Layout {
 public:
  explicit Layout(std::vector<Call> calls);
  ~Layout();
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  [[nodiscard]] const std::vector<Call>& calls() const noexcept { return calls_; }
  [[nodiscard]] const std::vector<host::Region>& regions() const noexcept { return regions_; }
  [[nodiscard]] const host::Region& region(std::size_t call, std::size_t buffer) const;
  [[nodiscard]] std::uint64_t span_bytes() const noexcept { return span_bytes_; }
  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }

  /// All bytes of a region, in the referee's own mapping.
  [[nodiscard]] std::byte* pages(const host::Region& region) const noexcept;

  /// Distance of a buffer's first byte from its region's.
  [[nodiscard]] std::size_t offset(std::size_t call, std::size_t buffer, Placement placement) const;

 private:
  std::vector<Call> calls_;
  std::vector<host::Region> regions_;
  std::vector<std::size_t> first_region_;  ///< Of each call.
  std::uint64_t span_bytes_ = 0;
  std::uint64_t file_bytes_ = 0;
  sandbox::Descriptor file_;
  std::byte* mapping_ = nullptr;
};

}  // namespace ouroboros
