#include "executor/cuda/main/gate.hpp"

namespace ouroboros::cuda {
namespace {

// Submitting hundreds of launches takes a millisecond. More than the stream can queue would wait
// for the gate as the gate waits for them: that is what the bound is for.
constexpr std::uint64_t patience_ns = 100'000'000;

}  // namespace

void Gate::close() {
  ++ticket_;
  device_.launch("ouroboros_gate", 1, 1, 0, words_.address(), ticket_, patience_ns);
}

void Gate::open() noexcept { words_->opened = ticket_; }

bool Gate::late() const noexcept { return words_->late == ticket_; }

}  // namespace ouroboros::cuda
