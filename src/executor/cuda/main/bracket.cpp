#include "executor/cuda/main/bracket.hpp"

#include <algorithm>

namespace ouroboros::cuda {
namespace {

// Some ten microseconds, and about as little as what is run in chains. Cycles, not nanoseconds: who
// waits for a step of the device's timer ends at one, and what comes next seems to begin too early.
constexpr std::uint64_t launched_cycles = 16'000;
constexpr std::uint64_t rowed_cycles = 8'000;
constexpr std::size_t row = 8;
constexpr unsigned spin_threads = 128;
constexpr auto patience = std::chrono::seconds{30};

}  // namespace

Bracket::Bracket(Device& device, Cache cache)
    : device_(device),
      cache_(cache),
      flush_(device),
      dirt_(cache == Cache::dirty ? std::make_unique<Range>(device, flush_.bytes()) : nullptr),
      gate_(device),
      flush_begins_(device.make_event()),
      flush_ends_(device.make_event()),
      start_(device.make_event()),
      stop_(device.make_event()) {}

void Bracket::warm_up() {
  flush_.enqueue();
  flush_.enqueue();
}

void Bracket::prepare_cache(const std::function<void()>& work) {
  device_.record(flush_begins_);
  if (dirt_) {
    dirt_->fill(dirt_->begin(), dirt_->end(), 0);
  } else {
    flush_.enqueue();
  }
  device_.record(flush_ends_);
  if (cache_ == Cache::hot) {
    if (graph_) {
      graph_->launch();
    } else {
      work();
    }
  }
}

void Bracket::enqueue(const std::function<void()>& work) {
  graph_.reset();
  if (submission_ == Submission::graph) {
    graph_ = std::make_unique<Graph>(device_, work);
  }
  prepare_cache(work);
  const bool gated = submission_ != Submission::stream;
  if (gated) {
    gate_.close();
  }
  try {
    device_.record(start_);
    if (graph_) {
      graph_->launch();
    } else {
      work();
    }
    device_.record(stop_);
  } catch (...) {
    gate_.open();
    throw;
  }
  // Still busy with the flush, or at the gate: then nothing between the events waited for the host.
  starved_ = device_.driver().cuEventQuery(start_.get()) == status_success;
  gate_.open();
}

Bracket::Times Bracket::read() const {
  const bool late = submission_ != Submission::stream && gate_.late();
  return {device_.microseconds(start_, stop_), device_.microseconds(flush_begins_, flush_ends_),
          device_.microseconds(flush_ends_, start_), starved_ || late};
}

/// For kernels that spin: a place for what each writes. On pages of their own, as a chain's calls
/// are, and more than one, as some make a kernel end 0.4 us later than others. All are mapped
/// before the first kernel, which would be slow right after it.
std::vector<std::unique_ptr<Range>> Bracket::pages_to_spin_on() const {
  const std::size_t bytes =
      device_.multiprocessors() * (sizeof(Span) + spin_threads * sizeof(std::uint32_t));
  std::vector<std::unique_ptr<Range>> pages;
  for (std::size_t i = 0; i < row; ++i) {
    pages.push_back(std::make_unique<Range>(device_, bytes));
  }
  return pages;
}

/// Runs a kernel on all multiprocessors for each of these. From when to when each ran.
std::vector<Span> Bracket::spin(std::span<const std::unique_ptr<Range>> pages,
                                std::uint64_t cycles) {
  const auto blocks = device_.multiprocessors();
  std::vector<Span> spans(blocks);
  const auto bytes = spans.size() * sizeof(Span);
  enqueue([&] {
    for (const auto& page : pages) {
      device_.launch("ouroboros_spin", blocks, spin_threads, 0, cycles, page->begin(),
                     page->begin() + bytes);
    }
  });
  device_.wait(Clock::now() + patience);
  std::vector<Span> result;
  for (const auto& page : pages) {
    device_.driver().check(device_.driver().cuMemcpyDtoH(spans.data(), page->begin(), bytes),
                           "cuMemcpyDtoH");
    result.push_back({std::ranges::min(spans, {}, &Span::begin_ns).begin_ns,
                      std::ranges::max(spans, {}, &Span::end_ns).end_ns});
  }
  return result;
}

std::vector<double> Bracket::launch_costs(std::size_t count) {
  const auto pages = pages_to_spin_on();
  std::vector<double> costs;
  for (std::size_t i = 0; i < count; ++i) {
    const auto ran = spin(std::span(pages).subspan(i % row, 1), launched_cycles).front();
    costs.push_back(read().work_us - static_cast<double>(ran.end_ns - ran.begin_ns) * 1e-3);
  }
  return costs;
}

std::vector<double> Bracket::kernel_gaps(std::size_t count) {
  const auto pages = pages_to_spin_on();
  std::vector<double> gaps;
  for (std::size_t i = 0; i < count; ++i) {
    const auto ran = spin(pages, rowed_cycles);
    std::uint64_t between_ns = 0;
    for (std::size_t k = 1; k < row; ++k) {
      between_ns += ran[k].begin_ns - ran[k - 1].end_ns;
    }
    gaps.push_back(static_cast<double>(between_ns) * 1e-3 / (row - 1));
  }
  return gaps;
}

void Bracket::escalate() noexcept {
  if (submission_ != Submission::graph) {
    submission_ = submission_ == Submission::stream ? Submission::gate : Submission::graph;
  }
}

}  // namespace ouroboros::cuda
