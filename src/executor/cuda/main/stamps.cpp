#include "executor/cuda/main/stamps.hpp"

#include <algorithm>

namespace ouroboros::cuda {
namespace {

double median(std::vector<double>& values) {
  if (values.empty()) {
    return 0;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Stamps::Stamps(Device& device, std::size_t count)
    : device_(device), range_(device, count * most_stamps * sizeof(ClockStamp)) {
  stamps_.resize(count * most_stamps);
}

void Stamps::clear() const {
  range_.fill(range_.begin(), range_.begin() + stamps_.size() * sizeof(ClockStamp), 0);
}

void Stamps::take(std::size_t index) const {
  device_.launch("ouroboros_stamp", device_.multiprocessors(), 1, 0,
                 range_.begin() + index * most_stamps * sizeof(ClockStamp), most_stamps);
}

void Stamps::fetch() {
  const auto& driver = device_.driver();
  driver.check(
      driver.cuMemcpyDtoH(stamps_.data(), range_.begin(), stamps_.size() * sizeof(ClockStamp)),
      "cuMemcpyDtoH");
}

Stamps::Span Stamps::between(std::size_t first) const {
  std::vector<double> times;
  std::vector<double> clocks;
  for (std::size_t i = 0; i < most_stamps; ++i) {
    const auto& from = stamps_[first * most_stamps + i];
    const auto& to = stamps_[(first + 1) * most_stamps + i];
    if (from.nanoseconds == 0 || to.nanoseconds <= from.nanoseconds) {
      continue;
    }
    const auto nanoseconds = static_cast<double>(to.nanoseconds - from.nanoseconds);
    times.push_back(nanoseconds * 1e-3);
    clocks.push_back(static_cast<double>(to.cycles - from.cycles) / nanoseconds * 1e3);
  }
  return {median(times), median(clocks)};
}

}  // namespace ouroboros::cuda
