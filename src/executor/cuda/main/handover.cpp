#include "executor/cuda/main/handover.hpp"

#include <algorithm>
#include <span>

namespace ouroboros::cuda {
namespace {

// Some ten microseconds, and about as little as what is run in chains. Cycles, not nanoseconds: who
// waits for a step of the device's timer ends at one, and what comes next seems to begin too early.
constexpr std::uint64_t cycles_alone = 16'000;
constexpr std::uint64_t cycles_of_many = 8'000;
constexpr unsigned threads = 128;
constexpr auto patience = std::chrono::seconds{30};

}  // namespace

Handover::Handover(Device& device, Bracket& bracket, std::size_t kernels)
    : device_(device),
      bracket_(bracket),
      spans_(device, kernels * device.multiprocessors() * sizeof(Span)) {
  for (std::size_t i = 0; i < kernels; ++i) {
    words_.push_back(std::make_unique<Range>(
        device, device.multiprocessors() * threads * sizeof(std::uint32_t)));
  }
}

std::optional<Handover::Taken> Handover::take(unsigned place) {
  bracket_.release_lines();
  if (kernels() == 1) {
    // As an arm's pages are before its run. A chain's are not.
    const Range* const pages[] = {&spans_, words_.front().get()};
    touch(device_, pages);
  }
  const auto ran = run(place);
  const auto times = bracket_.read();
  if (times.starved) {
    return std::nullopt;
  }
  std::uint64_t own_ns = 0;
  std::uint64_t between_ns = 0;
  for (std::size_t i = 0; i < ran.size(); ++i) {
    own_ns += ran[i].end_ns - ran[i].begin_ns;
    between_ns += i == 0 ? 0 : ran[i].begin_ns - ran[i - 1].end_ns;
  }
  const auto count = static_cast<double>(kernels());
  return Taken{(times.work_us - static_cast<double>(own_ns) * 1e-3) / count,
               kernels() == 1 ? 0 : static_cast<double>(between_ns) * 1e-3 / (count - 1)};
}

/// Runs the kernels one after another. From when to when each ran.
std::vector<Span> Handover::run(unsigned place) {
  const auto blocks = device_.multiprocessors();
  bracket_.take_place(place);
  bracket_.enqueue([&] {
    for (std::size_t i = 0; i < kernels(); ++i) {
      device_.launch("ouroboros_spin", blocks, threads, 0,
                     kernels() == 1 ? cycles_alone : cycles_of_many,
                     spans_.begin() + i * blocks * sizeof(Span), words_[i]->begin());
    }
  });
  bracket_.follow();
  device_.wait(Clock::now() + patience);
  std::vector<Span> spans(kernels() * blocks);
  device_.driver().check(
      device_.driver().cuMemcpyDtoH(spans.data(), spans_.begin(), spans.size() * sizeof(Span)),
      "cuMemcpyDtoH");
  std::vector<Span> result;
  for (std::size_t i = 0; i < kernels(); ++i) {
    const auto own = std::span(spans).subspan(i * blocks, blocks);
    result.push_back({std::ranges::min(own, {}, &Span::begin_ns).begin_ns,
                      std::ranges::max(own, {}, &Span::end_ns).end_ns});
  }
  return result;
}

}  // namespace ouroboros::cuda
