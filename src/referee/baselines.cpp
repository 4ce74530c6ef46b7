#include "referee/baselines.hpp"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "judge/base/serial.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/plan.hpp"

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

constexpr std::size_t eager_number = 0;

/// Gradients off, one thread: settings of the arm's own thread, and nobody else's.
void set_up_thread() {
  c10::GradMode::set_enabled(false);
  static thread_local const judge::Serial serial;
}

}  // namespace

Baselines::Baselines(const Problem& problem, const Tensors& inputs, const Tensors& outputs,
                     const Opener& open)
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
  sealed_.resize(state.baselines.size());
  first_ = std::any_of(problem.baselines.begin(), problem.baselines.end(),
                       [](const Baseline& one) { return one.image != nullptr; })
               ? eager_number + 1
               : eager_number;
  for (std::size_t i = 0; i < state.baselines.size(); ++i) {
    Race::Entry entry{state.baselines[i].name, ""};
    try {
      prepare(i, open);
    } catch (const std::exception& error) {
      entry.unavailable = error.what();
    }
    if (i >= first_) {
      entries_.push_back(std::move(entry));
    }
  }
}

void Baselines::prepare(std::size_t number, const Opener& open) {
  const auto& image = state_->baselines[number].image;
  if (!image) {
    session_->replay(first_call + 2 * number, Placement::low);
    return;
  }
  auto session = open(*image);
  if (session->opening().outcome != Outcome::returned) {
    throw Error(ErrorCode::unsupported, "it cannot be loaded: " + session->opening().evidence);
  }
  if (!session->exports(0)) {
    throw Error(ErrorCode::unsupported, "it exports no entry point for this dtype");
  }
  sealed_[number] = std::move(session);
}

Baselines::~Baselines() = default;

bool Baselines::is_sealed(std::size_t index) const { return sealed_[index + first_] != nullptr; }

void Baselines::withdraw(std::size_t index, std::string why) {
  entries_[index].unavailable = std::move(why);
}

Replay Baselines::run(std::size_t index) {
  if (is_eager(index)) {
    return run_eager();
  }
  const std::size_t number = index + first_;
  if (!sealed_[number]) {
    return session_->replay(first_call + 2 * number + 1, Placement::low);
  }
  auto replay = sealed_[number]->replay(0, Placement::low);
  if (replay.outcome != Outcome::returned) {
    throw Error(ErrorCode::executor_lost,
                fmt::format("the baseline '{}' failed: {}", entries_[index].name, replay.evidence));
  }
  return replay;
}

Replay Baselines::run_eager() {
  // Before the clock starts, so that the allocator can give the same, warm pages again: page
  // faults are no part of eager mode's arithmetic, and they come and go.
  state_->eager.clear();
  return session_->replay(first_call + 2 * eager_number + 1, Placement::low);
}

Replay Baselines::nothing() { return session_->replay(empty_call, Placement::low); }

const Tensors& Baselines::eager_outputs() const noexcept { return state_->eager; }

void Baselines::pin(int cpu) {
  session_->pin(cpu);
  for (const auto& one : sealed_) {
    if (one) one->pin(cpu);
  }
}

}  // namespace ouroboros::referee
