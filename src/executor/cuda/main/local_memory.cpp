#include "executor/cuda/main/local_memory.hpp"

#include <fmt/format.h>

#include <string>

namespace ouroboros::cuda {
namespace {

constexpr unsigned threads = 512;

/// On a multiprocessor: twice as many as the largest holds at once, so that none of its threads is
/// left out where blocks start and end in another order.
constexpr unsigned blocks_each = 8;

/// A frame's size is part of a kernel. Each thread has memory of its own, of its kernel's size, at
/// a place that follows from where the thread runs: a frame as large reaches all of that.
std::string kernel_ptx(std::size_t frame_bytes) {
  return fmt::format(R"ptx(
.version 6.4
.target sm_70
.address_size 64

.visible .entry ouroboros_scrub_local(.param .u32 p_at)
{{
  .local .align 16 .b8 frame[{0}];
  .reg .pred %p<3>;
  .reg .b32 %r<8>;
  ld.param.u32 %r5, [p_at];
  mov.u32 %r1, 0;
  mov.u32 %r2, frame;
  add.u32 %r3, %r2, {0};
  add.u32 %r5, %r5, %r2;
LOOP:
  st.local.v4.u32 [%r2], {{%r1, %r1, %r1, %r1}};
  add.u32 %r2, %r2, 16;
  setp.lt.u32 %p1, %r2, %r3;
  @%p1 bra LOOP;
  // The compiler cannot know which word is read, and leaves all stores.
  ld.local.u32 %r4, [%r5];
  setp.eq.u32 %p2, %r4, 0;
  @%p2 bra END;
  trap;
END:
  ret;
}}
)ptx",
                     frame_bytes);
}

}  // namespace

LocalScrub::LocalScrub(const Device& device, std::size_t frame_bytes) : device_(device) {
  const auto& driver = device_.driver();
  const auto ptx = kernel_ptx(frame_bytes);
  driver.check(driver.cuModuleLoadData(&module_, ptx.c_str()), "loading the local memory's scrub");
  const int status = driver.cuModuleGetFunction(&kernel_, module_, "ouroboros_scrub_local");
  if (status != status_success) {
    driver.cuModuleUnload(module_);
    driver.check(status, "ouroboros_scrub_local");
  }
}

LocalScrub::~LocalScrub() { device_.driver().cuModuleUnload(module_); }

void LocalScrub::enqueue() const {
  LaunchConfiguration configuration;
  configuration.grid[0] = device_.multiprocessors() * blocks_each;
  configuration.block[0] = threads;
  configuration.stream = device_.stream();
  unsigned at = 0;
  void* parameters[] = {&at, nullptr};
  device_.launch(configuration, kernel_, parameters, nullptr, "ouroboros_scrub_local");
}

}  // namespace ouroboros::cuda
