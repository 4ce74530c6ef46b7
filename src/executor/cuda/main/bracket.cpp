#include "executor/cuda/main/bracket.hpp"

namespace ouroboros::cuda {
namespace {

constexpr std::uint64_t spin_ns = 10'000;
constexpr auto patience = std::chrono::seconds{30};

}  // namespace

Bracket::Taken::Taken(const Device& device)
    : flush_begins(device.make_event()),
      flush_ends(device.make_event()),
      start(device.make_event()),
      stop(device.make_event()) {}

Bracket::Bracket(Device& device, Cache cache)
    : device_(device),
      cache_(cache),
      flush_(device),
      dirt_(cache == Cache::dirty ? std::make_unique<Range>(device, flush_.bytes()) : nullptr),
      gate_(device) {
  static_assert(kept <= gates_known);
  for (std::size_t i = 0; i < kept; ++i) {
    taken_.emplace_back(device);
  }
}

void Bracket::warm_up() {
  flush_.enqueue();
  flush_.enqueue();
}

void Bracket::prepare_cache(const Taken& one, const std::function<void()>& work) {
  device_.record(one.flush_begins);
  if (dirt_) {
    dirt_->fill(dirt_->begin(), dirt_->end(), 0);
  } else {
    flush_.enqueue();
  }
  device_.record(one.flush_ends);
  if (cache_ == Cache::hot) {
    if (one.graph) {
      one.graph->launch();
    } else {
      work();
    }
  }
}

std::size_t Bracket::enqueue(const std::function<void()>& work) {
  const auto place = next_++ % kept;
  auto& one = taken_[place];
  one.graph.reset();
  one.gate.reset();
  if (submission_ == Submission::graph) {
    one.graph = std::make_unique<Graph>(device_, work);
  }
  prepare_cache(one, work);
  if (submission_ != Submission::stream) {
    one.gate = gate_.close();
  }
  try {
    device_.record(one.start);
    if (one.graph) {
      one.graph->launch();
    } else {
      work();
    }
    device_.record(one.stop);
  } catch (...) {
    gate_.open();
    throw;
  }
  // Still busy with the flush, or at the gate: then nothing between the events waited for the host.
  one.starved = device_.driver().cuEventQuery(one.start.get()) == status_success;
  gate_.open();
  return place;
}

Bracket::Times Bracket::read(std::size_t taken) const {
  const auto& one = taken_[taken];
  const bool late = one.gate && gate_.late(*one.gate);
  return {device_.microseconds(one.start, one.stop),
          device_.microseconds(one.flush_begins, one.flush_ends),
          device_.microseconds(one.flush_ends, one.start), one.starved || late};
}

std::vector<double> Bracket::launch_costs(std::size_t count) {
  const Range spun(device_, sizeof(std::uint64_t));
  std::vector<double> costs;
  for (std::size_t i = 0; i < count; ++i) {
    const auto taken =
        enqueue([&] { device_.launch("ouroboros_spin", 1, 1, 0, spin_ns, spun.begin()); });
    device_.wait(Clock::now() + patience);
    std::uint64_t nanoseconds = 0;
    device_.driver().check(
        device_.driver().cuMemcpyDtoH(&nanoseconds, spun.begin(), sizeof nanoseconds),
        "cuMemcpyDtoH");
    costs.push_back(read(taken).work_us - static_cast<double>(nanoseconds) * 1e-3);
  }
  return costs;
}

void Bracket::escalate() noexcept {
  if (submission_ != Submission::graph) {
    submission_ = submission_ == Submission::stream ? Submission::gate : Submission::graph;
  }
}

}  // namespace ouroboros::cuda
