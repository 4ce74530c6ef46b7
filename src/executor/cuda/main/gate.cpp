#include "executor/cuda/main/gate.hpp"

#include <new>

namespace ouroboros::cuda {
namespace {

// Submitting hundreds of launches takes a millisecond. More than the stream can queue would wait
// for the gate as the gate waits for them: that is what the bound is for.
constexpr std::uint64_t patience_ns = 100'000'000;

}  // namespace

Gate::Gate(Device& device) : device_(device) {
  const auto& driver = device.driver();
  void* memory = nullptr;
  driver.check(driver.cuMemHostAlloc(&memory, sizeof(GateWords), host_memory_mapped),
               "cuMemHostAlloc");
  words_ = new (memory) GateWords;
  if (const int status = driver.cuMemHostGetDevicePointer(&address_, memory, 0);
      status != status_success) {
    driver.cuMemFreeHost(memory);
    driver.check(status, "cuMemHostGetDevicePointer");
  }
}

Gate::~Gate() { device_.driver().cuMemFreeHost(const_cast<GateWords*>(words_)); }

void Gate::close() {
  ++ticket_;
  device_.launch("ouroboros_gate", 1, 1, 0, address_, ticket_, patience_ns);
}

void Gate::open() noexcept { words_->opened = ticket_; }

bool Gate::late() const noexcept { return words_->late == ticket_; }

}  // namespace ouroboros::cuda
