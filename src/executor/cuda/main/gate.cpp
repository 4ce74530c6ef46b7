#include "executor/cuda/main/gate.hpp"

#include <cstddef>

namespace ouroboros::cuda {
namespace {

// Submitting hundreds of launches takes a millisecond. More than the stream can queue would wait
// for the gate as the gate waits for them: that is what the bound is for.
constexpr std::uint64_t patience_ns = 100'000'000;

}  // namespace

Gate::Gate(const Device& device) : device_(device), memory_(device, sizeof(GateWords)) {}

volatile GateWords& Gate::words() const noexcept {
  return *static_cast<volatile GateWords*>(memory_.here());
}

unsigned Gate::close() {
  ++last_;
  const Address late =
      memory_.there() + offsetof(GateWords, late) + last_ % gates_known * sizeof(unsigned);
  device_.launch("ouroboros_gate", 1, 1, 0, memory_.there() + offsetof(GateWords, opened), late,
                 last_, patience_ns);
  return last_;
}

void Gate::open() noexcept { words().opened = last_; }

bool Gate::late(unsigned gate) const noexcept { return words().late[gate % gates_known] == gate; }

}  // namespace ouroboros::cuda
