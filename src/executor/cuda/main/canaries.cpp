#include "executor/cuda/main/canaries.hpp"

#include <fmt/format.h>

#include "executor/cuda/main/kernels.hpp"

namespace ouroboros::cuda {
namespace {

constexpr auto patience = std::chrono::seconds{60};

}  // namespace

std::optional<std::string> Canaries::damage(std::vector<Canary> canaries) {
  const auto& driver = device_.driver();
  std::erase_if(canaries, [](const Canary& one) { return one.from >= one.to; });
  if (canaries.empty()) {
    return std::nullopt;
  }
  std::vector<CanaryResult> found(canaries.size());
  const auto bytes = found.size() * sizeof found[0];
  if (!results_ || results_->bytes() < bytes) {
    results_ = std::make_unique<Range>(device_, bytes);
  }
  device_.upload(results_->begin(), found.data(), bytes);
  for (std::size_t i = 0; i < canaries.size(); ++i) {
    const auto& one = canaries[i];
    device_.launch("ouroboros_canary", device_.multiprocessors(), 1024, 0, one.from,
                   one.to - one.from, one.pattern, results_->begin() + i * sizeof found[0]);
  }
  device_.wait(Clock::now() + patience);
  driver.check(driver.cuMemcpyDtoH(found.data(), results_->begin(), bytes), "cuMemcpyDtoH");
  for (std::size_t i = 0; i < canaries.size(); ++i) {
    if (found[i].bytes != 0) {
      const auto& one = canaries[i];
      const bool after = one.where.starts_with("past");
      return fmt::format("wrote out of bounds: {} bytes {}",
                         after ? found[i].last + 1 : one.to - one.from - found[i].first, one.where);
    }
  }
  return std::nullopt;
}

}  // namespace ouroboros::cuda
