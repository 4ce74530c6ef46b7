#include "executor/cuda/main/race.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "executor/cuda/main/fault.hpp"
#include "executor/cuda/main/hygiene.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::cuda {
namespace {

constexpr unsigned flush_threads = 256;
constexpr unsigned flush_blocks_each = 4;  ///< On a multiprocessor.
constexpr unsigned most_passes = 32;
constexpr auto patience = std::chrono::seconds{30};

std::vector<Program> load(Device& device, std::vector<LaunchPlan> plans, Modules& modules) {
  std::vector<Program> programs;
  for (auto& plan : plans) {
    programs.emplace_back(device, std::move(plan), modules);
  }
  return programs;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::uint64_t flush_words(std::size_t l2_bytes, unsigned threads) {
  const std::uint64_t step = std::uint64_t{threads} * read_words_at_once;
  return (2 * l2_bytes / 16 + step - 1) / step * step;
}

}  // namespace

Flush::Flush(Device& device)
    : device_(device),
      grid_(device.multiprocessors() * flush_blocks_each),
      count_(flush_words(device.l2_bytes(), grid_ * flush_threads)),
      buffer_(device, count_ * 16),
      sink_(device, 4) {
  buffer_.fill(buffer_.begin(), buffer_.end(), 0);
  device.wait(Clock::now() + patience);
  buffer_.allow(Access::read);
}

void Flush::enqueue() const {
  device_.launch("ouroboros_read", grid_, flush_threads, 0, buffer_.begin(), count_, sink_.begin());
}

Calibration calibrate(Device& device, const Flush& flush) {
  constexpr int repetitions = 64;
  Calibration result;
  const auto start = device.make_event();
  const auto stop = device.make_event();
  std::vector<double> empty;
  std::vector<double> flushes;
  for (int i = 0; i < repetitions; ++i) {
    flush.enqueue();
    device.record(start);
    device.launch("ouroboros_empty", 1, 32, 0);
    device.record(stop);
    device.wait(stop, Clock::now() + patience);
    empty.push_back(device.microseconds(start, stop));
    device.record(start);
    flush.enqueue();
    device.record(stop);
    device.wait(stop, Clock::now() + patience);
    flushes.push_back(device.microseconds(start, stop));
  }
  result.empty_launch_us = median(empty);
  result.flush_us = median(flushes);
  std::sort(empty.begin(), empty.end());
  for (std::size_t i = 1; i < empty.size(); ++i) {
    // Elapsed times are whole ticks, up to the rounding of a float of milliseconds.
    const double step = (empty[i] - empty[i - 1]) * 1e3;
    if (step > 0.5 && (result.tick_ns == 0 || step < result.tick_ns)) {
      result.tick_ns = step;
    }
  }
  constexpr std::size_t copy_bytes = std::size_t{256} << 20;
  const Range from(device, copy_bytes);
  const Range to(device, copy_bytes);
  std::vector<double> copies;
  for (int i = 0; i < 8; ++i) {
    device.record(start);
    device.driver().check(
        device.driver().cuMemcpyDtoDAsync(to.begin(), from.begin(), copy_bytes, device.stream()),
        "the copy");
    device.record(stop);
    device.wait(stop, Clock::now() + patience);
    copies.push_back(device.microseconds(start, stop));
  }
  result.copy_gbps = 2.0 * static_cast<double>(copy_bytes) / (median(copies) * 1e3);
  return result;
}

Race::Race(Device& device, std::unique_ptr<Exchange> arena, std::vector<ArenaBuffer> buffers,
           std::vector<LaunchPlan> arms)
    : device_(device),
      arena_(std::move(arena)),
      modules_(device),
      arms_(load(device, std::move(arms), modules_)),
      memory_(device, *arena_, buffers, plans(), false),
      flush_(device),
      start_(device.make_event()),
      stop_(device.make_event()) {
  memory_.make_room_for_outputs(arms_.size());
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    arms_[i].bind(memory_.addresses(i));
  }
}

std::vector<const LaunchPlan*> Race::plans() const {
  std::vector<const LaunchPlan*> result;
  for (const auto& arm : arms_) {
    result.push_back(&arm.plan());
  }
  return result;
}

void Race::upload() {
  memory_.upload();
  uploaded_ = true;
}

void Race::download(std::size_t arm) const { memory_.download_kept(arm); }

Race::Block Race::run(const std::vector<std::size_t>& order, double seconds) {
  if (!uploaded_) {
    throw Error(ErrorCode::invalid_argument, "a race has no inputs yet: upload them first");
  }
  Block block;
  const auto& driver = device_.driver();
  driver.check(driver.cuCtxResetPersistingL2Cache(), "cuCtxResetPersistingL2Cache");
  const Range counters(device_, order.size() * sizeof(std::uint64_t));
  counters.fill(counters.begin(), counters.end(), 0);
  std::vector<bool> seen(arms_.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto arm = order[i];
    if (arm >= arms_.size()) {
      throw Error(ErrorCode::invalid_argument, fmt::format("there is no arm {}", arm));
    }
    block.arm = arm;
    try {
      sample(arm, counters.begin() + i * sizeof(std::uint64_t), !seen[arm], seconds,
             block.samples.emplace_back());
    } catch (const DriverError& failure) {
      block.replay = judge_failure(device_, failure, fmt::format("arm {}", arm));
      return block;
    } catch (const KernelHangs&) {
      block.replay.outcome = Outcome::timeout;
      block.replay.evidence = fmt::format("arm {} was still running after {:g} s", arm, seconds);
      return block;
    }
    seen[arm] = true;
  }
  std::vector<std::uint64_t> differing(order.size());
  driver.check(driver.cuMemcpyDtoH(differing.data(), counters.begin(),
                                   differing.size() * sizeof(std::uint64_t)),
               "cuMemcpyDtoH");
  for (std::size_t i = 0; i < order.size(); ++i) {
    block.samples[i].same_as_first = differing[i] == 0;
  }
  // One sample may be a hiccup of this processor. Two are launches that take longer to submit than
  // the flush to run: then all arms get a longer one.
  const auto starved = std::count_if(block.samples.begin(), block.samples.end(),
                                     [](const Sample& one) { return one.starved; });
  if (starved > 1) {
    passes_ = std::min(passes_ * 2, most_passes);
  }
  if (const auto damage = memory_.damage(0)) {
    block.replay.outcome = Outcome::fault;
    block.replay.evidence = *damage;
  }
  return block;
}

void Race::sample(std::size_t arm, Address counter, bool first, double seconds, Sample& result) {
  auto& program = arms_[arm];
  program.restore();
  scrub_shared(device_);
  memory_.reset(arm);
  for (unsigned pass = 0; pass < passes_; ++pass) {
    flush_.enqueue();
  }
  device_.record(start_);
  for (std::size_t i = 0; i < program.launches(); ++i) {
    program.launch(i);
  }
  device_.record(stop_);
  // Still busy with the flush: then nothing between the events waited for this processor.
  result.starved = device_.driver().cuEventQuery(start_) == status_success;
  if (first) {
    memory_.keep_outputs(arm);
  } else {
    memory_.compare_outputs(arm, counter);
  }
  device_.wait(Clock::now() +
               std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
  result.latency_us = device_.microseconds(start_, stop_);
}

}  // namespace ouroboros::cuda
