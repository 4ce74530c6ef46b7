#include "executor/cuda/main/bracket.hpp"

#include "executor/cuda/main/places.hpp"

namespace ouroboros::cuda {

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

void Bracket::release_lines() {
  const auto& driver = device_.driver();
  driver.check(driver.cuCtxResetPersistingL2Cache(), "cuCtxResetPersistingL2Cache");
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

void Bracket::escalate() noexcept {
  if (submission_ != Submission::graph) {
    submission_ = submission_ == Submission::stream ? Submission::gate : Submission::graph;
  }
}

}  // namespace ouroboros::cuda
