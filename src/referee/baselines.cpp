#include "referee/baselines.hpp"

#include <ATen/core/grad_mode.h>

#include <optional>

#include "judge/serial.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::referee {

struct Baselines::State {
  std::vector<Baseline> baselines;
  Tensors inputs;
  Tensors outputs;
  Tensors eager;
  std::vector<std::function<void()>> runners;
};

namespace {

// Call numbers in the session. Baseline i is prepared by call first + 2 i and run by the next.
constexpr std::size_t set_up_call = 0;
constexpr std::size_t empty_call = 1;
constexpr std::size_t first_call = 2;

constexpr std::size_t eager_index = 0;  // Among the baselines.

/// Gradients off, one thread: settings of the arm's own thread, and nobody else's.
void set_up_thread() {
  c10::GradMode::set_enabled(false);
  static thread_local const judge::Serial serial;
}

}  // namespace

Baselines::Baselines(const Problem& problem, const Tensors& inputs, const Tensors& outputs)
    : state_(std::make_unique<State>()) {
  auto& state = *state_;
  state.inputs = inputs;
  state.outputs = outputs;
  const Baseline eager{"eager", [&state, &problem](const Tensors&, const Tensors&) {
                         return [&state, reference = problem.reference] {
                           state.eager = reference(state.inputs);
                         };
                       }};
  state.baselines = {eager};
  state.baselines.insert(state.baselines.end(), problem.baselines.begin(), problem.baselines.end());
  state.runners.resize(state.baselines.size());

  std::vector<std::function<void()>> calls = {set_up_thread, [] {}};
  for (std::size_t i = 0; i < state.baselines.size(); ++i) {
    calls.emplace_back([&state, i] {
      if (!state.baselines[i].prepare) {
        throw Error(ErrorCode::unsupported, "it is one for GPUs: it has no `prepare`");
      }
      state.runners[i] = state.baselines[i].prepare(state.inputs, state.outputs);
      state.runners[i]();
    });
    calls.emplace_back([&state, i] { state.runners[i](); });
  }
  session_ = open_trusted(std::move(calls));
  session_->replay(set_up_call, Placement::low);
  for (std::size_t i = 0; i < state.baselines.size(); ++i) {
    entries_.push_back({state.baselines[i].name, ""});
    try {
      session_->replay(first_call + 2 * i, Placement::low);
    } catch (const std::exception& error) {
      entries_.back().unavailable = error.what();
    }
  }
}

Baselines::~Baselines() = default;

Replay Baselines::run(std::size_t index) {
  if (index == eager_index) {
    // Before the clock starts, so that the allocator can give the same, warm pages again: page
    // faults are no part of eager mode's arithmetic, and they come and go.
    state_->eager.clear();
  }
  return session_->replay(first_call + 2 * index + 1, Placement::low);
}

Replay Baselines::nothing() { return session_->replay(empty_call, Placement::low); }

const Tensors& Baselines::eager_outputs() const noexcept { return state_->eager; }

void Baselines::pin(int cpu) { session_->pin(cpu); }

}  // namespace ouroboros::referee
