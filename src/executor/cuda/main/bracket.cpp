#include "executor/cuda/main/bracket.hpp"

#include <algorithm>
#include <span>

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
      behind_(device, 1),
      flush_begins_(device.make_event()),
      flush_ends_(device.make_event()),
      start_(device.make_event()),
      stop_(device.make_event()) {}

void Bracket::warm_up() {
  flush_.enqueue();
  flush_.enqueue();
}

void Bracket::take_place(unsigned place) {
  while (device_.launched() % Places::count != place) {
    device_.launch("ouroboros_empty", 1, 32, 0);
  }
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

void Bracket::follow() { behind_.take(0); }

Bracket::Times Bracket::read() const {
  const bool late = submission_ != Submission::stream && gate_.late();
  return {device_.microseconds(start_, stop_), device_.microseconds(flush_begins_, flush_ends_),
          device_.microseconds(flush_ends_, start_), starved_ || late};
}

/// What kernels that spin write to. The threads of each have pages of their own, as the calls of a
/// chain do. When blocks began and ended is written elsewhere: on a page with the rest it lets some
/// kernels end 0.4 us later. All is mapped before the first kernel, which would be slow after it.
struct Bracket::Spun {
  Spun(Device& device, std::size_t kernels)
      : blocks(device.multiprocessors()), spans(device, kernels * blocks * sizeof(Span)) {
    for (std::size_t i = 0; i < kernels; ++i) {
      words.push_back(
          std::make_unique<Range>(device, blocks * spin_threads * sizeof(std::uint32_t)));
    }
  }

  unsigned blocks;
  Range spans;
  std::vector<std::unique_ptr<Range>> words;
};

/// Runs so many kernels on all multiprocessors, one after another. From when to when each ran.
std::vector<Span> Bracket::spin(const Spun& spun, std::uint64_t cycles) {
  const auto kernels = spun.words.size();
  take_place(places_.next());
  enqueue([&] {
    for (std::size_t i = 0; i < kernels; ++i) {
      device_.launch("ouroboros_spin", spun.blocks, spin_threads, 0, cycles,
                     spun.spans.begin() + i * spun.blocks * sizeof(Span), spun.words[i]->begin());
    }
  });
  follow();
  device_.wait(Clock::now() + patience);
  std::vector<Span> spans(kernels * spun.blocks);
  device_.driver().check(
      device_.driver().cuMemcpyDtoH(spans.data(), spun.spans.begin(), spans.size() * sizeof(Span)),
      "cuMemcpyDtoH");
  std::vector<Span> result;
  for (std::size_t i = 0; i < kernels; ++i) {
    const auto own = std::span(spans).subspan(i * spun.blocks, spun.blocks);
    result.push_back({std::ranges::min(own, {}, &Span::begin_ns).begin_ns,
                      std::ranges::max(own, {}, &Span::end_ns).end_ns});
  }
  return result;
}

std::vector<double> Bracket::launch_costs(std::size_t count) {
  const Spun spun(device_, 1);
  std::vector<double> costs;
  for (std::size_t i = 0; i < count; ++i) {
    // As an arm's pages are before its run. A chain's are not.
    const Range* const pages[] = {&spun.spans, spun.words.front().get()};
    touch(device_, pages);
    const auto ran = spin(spun, launched_cycles).front();
    costs.push_back(read().work_us - static_cast<double>(ran.end_ns - ran.begin_ns) * 1e-3);
  }
  return costs;
}

std::vector<double> Bracket::kernel_gaps(std::size_t count) {
  const Spun spun(device_, row);
  std::vector<double> gaps;
  for (std::size_t i = 0; i < count; ++i) {
    const auto ran = spin(spun, rowed_cycles);
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
