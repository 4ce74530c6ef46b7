#include "executor/cuda/main/bracket.hpp"

namespace ouroboros::cuda {

Bracket::Bracket(Device& device)
    : device_(device),
      flush_(device),
      gate_(device),
      flush_begins_(device.make_event()),
      flush_ends_(device.make_event()),
      start_(device.make_event()),
      stop_(device.make_event()) {}

void Bracket::enqueue(const std::function<void()>& work) {
  graph_.reset();
  if (submission_ == Submission::graph) {
    graph_ = std::make_unique<Graph>(device_, work);
  }
  device_.record(flush_begins_);
  flush_.enqueue();
  device_.record(flush_ends_);
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
  starved_ = device_.driver().cuEventQuery(start_) == status_success;
  gate_.open();
}

Bracket::Times Bracket::read() const {
  const bool late = submission_ != Submission::stream && gate_.late();
  return {device_.microseconds(start_, stop_), device_.microseconds(flush_begins_, flush_ends_),
          starved_ || late};
}

void Bracket::escalate() noexcept {
  if (submission_ != Submission::graph) {
    submission_ = submission_ == Submission::stream ? Submission::gate : Submission::graph;
  }
}

}  // namespace ouroboros::cuda
