#include "referee/host_race.hpp"

#include <chrono>
#include <numeric>

#include "referee/arena_tensors.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee {
namespace {

constexpr int warm_up_rounds = 3;
constexpr int handover_samples = 64;

double microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace

HostRace::HostRace(const Problem& problem, const Compiled& compiled, const judge::CaseSpec& cell,
                   std::uint64_t seed, const Options& options)
    : Race(problem, cell, seed, options),
      compiled_(compiled),
      arena_(lay_out()),
      baselines_(problem, inputs(), outputs(),
                 [this](const ModuleImage& image) { return opened(image); }) {
  for (std::size_t i = 0; i < baselines_.entries().size(); ++i) {
    if (baselines_.entries()[i].unavailable.empty() && baselines_.is_sealed(i)) {
      try_rival(i);
    }
  }
}

/// What computes something else must not speak against a candidate.
void HostRace::try_rival(std::size_t index) {
  try {
    if (!is_right([&] {
          arena_->poison_outputs(0, Placement::low, seed());
          baselines_.run(index);
        })) {
      baselines_.withdraw(index, "it does not compute what the reference computes");
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    baselines_.withdraw(index, error.what());
  }
}

std::unique_ptr<Session> HostRace::opened(const ModuleImage& image) const {
  return make_host_executor(options().limits, options().cancelled)->open({image, calls()}, arena_);
}

std::shared_ptr<const Arena> HostRace::lay_out() {
  auto arena = std::make_shared<const Arena>(calls());
  arena->poison(0, Placement::low, seed());
  auto tensors = arena_tensors(*arena, 0, Placement::low);
  use(std::move(tensors.inputs), std::move(tensors.outputs));
  return arena;
}

std::size_t HostRace::add(std::unique_ptr<Session> session, std::size_t baseline) {
  const bool candidate = session != nullptr;
  arms_.push_back({std::move(session), baseline, clones(outputs())});
  return enter(candidate);
}

std::size_t HostRace::add_candidate() {
  auto session = opened(compiled_.image);
  if (session->opening().outcome != Outcome::returned) {
    const auto [status, finding] = misconduct(session->opening(), "time");
    fail(status, finding);
  }
  return add(std::move(session), 0);
}

std::size_t HostRace::add_baseline(std::size_t index) { return add(nullptr, index); }

void HostRace::warm_up() {
  lease_.emplace();
  baselines_.pin(lease_->cpu());
  for (const auto& arm : arms_) {
    if (arm.session) {
      arm.session->pin(lease_->cpu());
    }
  }
  std::vector<std::size_t> everyone(arms_.size());
  std::iota(everyone.begin(), everyone.end(), std::size_t{0});
  std::vector<timing::Sample> samples;
  for (int round = 0; round < warm_up_rounds && !failure(); ++round) {
    run_half(everyone, round == 0, samples);
  }
  Method method;
  method.handover_us = measure_handover();
  set_method(std::move(method));
}

std::vector<timing::Block> HostRace::run_some(std::size_t) {
  const auto order = next_order();
  const auto half = order.size() / 2;
  std::vector<timing::Block> blocks(1);
  run_half(std::span(order).first(half), lot(), blocks[0].samples);
  if (!failure()) {
    run_half(std::span(order).last(half), lot(), blocks[0].samples);
  }
  return blocks;
}

void HostRace::run_half(std::span<const std::size_t> order, bool closely,
                        std::vector<timing::Sample>& samples) {
  const auto drawn = draw_inputs(std::span(&inputs(), 1)).front();
  run_arms(order, drawn, samples);
  if (failure()) {
    return;
  }
  const auto& eager = eager_outputs();
  for (const auto& arm : arms_) {
    if (arm.session) {
      check_outputs(drawn, eager, arm.outputs, closely);
    }
  }
}

void HostRace::run_arms(std::span<const std::size_t> order, std::uint64_t seed,
                        std::vector<timing::Sample>& samples) {
  const auto sampled = [&samples](std::size_t arm, double latency_us) {
    auto& sample = samples.emplace_back();
    sample.arm = arm;
    sample.latency_us = latency_us;
  };
  eager_ran_ = false;
  for (const std::size_t number : order) {
    auto& arm = arms_[number];
    arena_->poison_outputs(0, Placement::low, derive_seed(seed, number));
    if (!arm.session) {
      sampled(number, microseconds(baselines_.run(arm.baseline).elapsed));
      eager_ran_ = eager_ran_ || baselines_.is_eager(arm.baseline);
    } else {
      const auto replay = arm.session->replay(0, Placement::low);
      if (replay.outcome != Outcome::returned) {
        const auto [status, finding] = misconduct(replay, "time");
        return fail(status, finding);
      }
      sampled(number, microseconds(replay.elapsed));
      count_sample();
    }
    // Kept for every arm, though only candidates' are looked at: the next one meets the same
    // caches.
    for (std::size_t i = 0; i < outputs().size(); ++i) {
      copy_bytes(outputs()[i], arm.outputs[i]);
    }
  }
}

void HostRace::run_alone(std::size_t arm, std::uint64_t seed) {
  arena_->poison_outputs(0, Placement::low, seed);
  const auto replay = arms_[arm].session->replay(0, Placement::low);
  if (replay.outcome != Outcome::returned) {
    const auto [status, finding] = misconduct(replay, "time");
    fail(status, finding);
  }
}

const Tensors& HostRace::eager_outputs() {
  if (!eager_ran_) {
    baselines_.run_eager();
    eager_ran_ = true;
  }
  return baselines_.eager_outputs();
}

double HostRace::measure_handover() {
  std::vector<double> times;
  for (int i = 0; i < handover_samples; ++i) {
    times.push_back(microseconds(baselines_.nothing().elapsed));
  }
  return timing::trimmed_mean(times, options().timing.trim).mean;
}

}  // namespace ouroboros::referee
