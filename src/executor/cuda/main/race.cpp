#include "executor/cuda/main/race.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>
#include <stdexcept>

#include "executor/cuda/main/fault.hpp"
#include "executor/cuda/main/hygiene.hpp"
#include "executor/cuda/main/poison.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::cuda {
namespace {

/// Of a sample: its two ends.
constexpr std::size_t stamps_each = 2;

/// Of all copies of all code: a share of what is free, and so much at most. Libraries' modules can
/// have tens of megabytes each.
constexpr std::size_t code_share = 16;
constexpr std::size_t most_code_bytes = std::size_t{2} << 30;

/// Of a thread. What kernels with larger frames leave is not overwritten: that would take longer
/// than all else.
constexpr std::size_t most_local_bytes = std::size_t{16} << 10;

/// With our own kernels.
constexpr auto patience = std::chrono::seconds{60};

std::vector<std::size_t> numbers(std::size_t count) {
  std::vector<std::size_t> result(count);
  std::iota(result.begin(), result.end(), std::size_t{0});
  return result;
}

}  // namespace

/// One sample that is to be taken.
struct Race::Turn {
  std::size_t chain = 1;
  double seconds = 0;  ///< All of it may take.
  std::size_t stamp = 0;
  std::size_t set = 0;
  std::size_t arm = 0;
  unsigned place = 0;  ///< Among launches.
  bool first = false;  ///< Of the arm in its block.
  bool keep = false;   ///< Keep the outputs, after comparing them with what was kept.
};

Race::Race(Device& device, std::unique_ptr<Exchange> arena,
           const std::vector<std::vector<ArenaBuffer>>& sets, std::vector<LaunchPlan> arms,
           const Setup& setup)
    : device_(device),
      padding_(setup.padding == 0 ? nullptr : std::make_unique<Range>(device, setup.padding)),
      arena_(std::move(arena)),
      canaries_(device),
      bracket_(device, setup.cache) {
  load(std::move(arms), setup.code_copies);
  clear_local_memory();
  std::size_t kept = 0;
  for (const auto& buffers : sets) {
    sets_.push_back(std::make_unique<Memory>(device, *arena_, buffers, plans(), false));
    sets_.back()->make_room_for_outputs(arms_.size());
    kept += static_cast<std::size_t>(std::ranges::count_if(buffers, &ArenaBuffer::output));
  }
  seals_ = std::make_unique<Seals>(device, kept * arms_.size());
  // What cannot be bound is the plan's fault, and shows here.
  for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
    arms_[arm].front().bind(sets_.front()->addresses(arm));
  }
}

void Race::load(std::vector<LaunchPlan> arms, std::size_t copies) {
  std::vector<std::shared_ptr<const LaunchPlan>> plans;
  std::size_t bytes = 0;
  for (auto& plan : arms) {
    for (const auto& image : plan.images) {
      bytes += image.bytes.size();
    }
    plans.push_back(std::make_shared<const LaunchPlan>(std::move(plan)));
  }
  const auto room = std::min(device_.free_bytes() / code_share, most_code_bytes);
  copies =
      std::bit_floor(std::clamp<std::size_t>(room / std::max<std::size_t>(bytes, 1), 1, copies));
  arms_.resize(plans.size());
  auto order = numbers(plans.size());
  for (std::size_t copy = 0; copy < copies; ++copy) {
    for (const auto arm : order) {
      modules_.push_back(std::make_unique<Modules>(device_));
      arms_[arm].emplace_back(device_, plans[arm], *modules_.back());
    }
    // Whatever comes first lies first: no arm does always.
    std::reverse(order.begin(), order.end());
  }
}

void Race::clear_local_memory() {
  std::size_t bytes = 0;
  for (const auto& copies : arms_) {
    bytes = std::max(bytes, copies.front().local_bytes());
  }
  if (bytes != 0 && bytes <= most_local_bytes) {
    constexpr std::size_t step = 16;
    local_ = std::make_unique<LocalScrub>(device_, (bytes + step - 1) / step * step);
  }
}

std::vector<const LaunchPlan*> Race::plans() const {
  std::vector<const LaunchPlan*> result;
  for (const auto& arm : arms_) {
    result.push_back(&arm.front().plan());
  }
  return result;
}

/// What runs as an arm in this round. Odd steps meet all copies, whose number is a power of two,
/// and different steps let arms meet in other pairs.
Program& Race::program(std::size_t arm) {
  auto& copies = arms_[arm];
  return copies[rounds_ * (2 * arm + 1) % copies.size()];
}

std::span<const std::unique_ptr<Memory>> Race::first(std::size_t sets) const {
  return std::span(sets_).first(std::min(sets, sets_.size()));
}

void Race::upload(std::size_t sets) {
  const auto some = first(sets);
  for (const auto& set : some) {
    set->open_inputs();
  }
  arena_->begin();
  for (const auto& set : some) {
    set->copy_in();
  }
  arena_->finish();
  for (const auto& set : some) {
    set->close_inputs();
  }
  uploaded_ = std::max(uploaded_, some.size());
}

void Race::download(std::size_t arm, std::size_t sets) {
  const auto some = first(sets);
  seals_->lend_key();
  for (const auto& set : some) {
    set->reveal_outputs(arm, *seals_);
  }
  device_.wait(Clock::now() + patience);
  if (!seals_->close()) {
    throw std::runtime_error("what an arm computed is not what was kept of it");
  }
  arena_->begin();
  for (const auto& set : some) {
    set->copy_out();
  }
  arena_->finish();
}

void Race::check(const std::vector<Round>& rounds, std::size_t chain) const {
  const auto refuse = [](const std::string& why) { throw Error(ErrorCode::invalid_argument, why); };
  if (chain == 0 || chain > sets_.size()) {
    refuse(fmt::format("a chain of {} runs cannot be made on {} sets", chain, sets_.size()));
  }
  std::size_t used = chain;
  for (const auto& round : rounds) {
    if (round.set >= sets_.size()) {
      refuse(fmt::format("there is no set {}", round.set));
    }
    used = std::max(used, round.set + 1);
    for (const auto arm : round.order) {
      if (arm >= arms_.size()) {
        refuse(fmt::format("there is no arm {}", arm));
      }
    }
  }
  if (used > uploaded_) {
    refuse(fmt::format("a race has inputs on {} sets, and {} are used: upload them first",
                       uploaded_, used));
  }
}

std::vector<Race::Block> Race::run(const std::vector<Round>& rounds, std::size_t chain,
                                   double seconds) {
  check(rounds, chain);
  std::size_t samples = 0;
  for (const auto& round : rounds) {
    samples += round.order.size();
  }
  prepare(samples, chain);
  Turn turn;
  turn.chain = chain;
  turn.seconds = seconds * static_cast<double>(chain);
  std::vector<Block> blocks;
  for (const auto& round : rounds) {
    blocks.push_back(run_round(round, turn));
    if (blocks.back().replay.outcome != Outcome::returned) {
      return blocks;
    }
    turn.stamp += round.order.size() * stamps_each;
  }
  read(blocks);
  if (!blocks.empty()) {
    look_for_damage(blocks.back().replay);
  }
  return blocks;
}

void Race::prepare(std::size_t samples, std::size_t chain) {
  if (chain > 1 && bracket_.submission() == Submission::stream) {
    bracket_.escalate();  // A flush is too short to hide so many launches.
  }
  if (!handover_ || handover_->kernels() != chain) {
    handover_.reset();
    handover_ = std::make_unique<Handover>(device_, bracket_, chain);
  }
  if (!stamps_ || stamps_->count() < samples * stamps_each) {
    stamps_.reset();
    stamps_ = std::make_unique<Stamps>(device_, samples * stamps_each);
  }
  stamps_->clear();
  // Mapping memory makes the device forget how addresses translate: the first flush after it, and
  // the first run, would be slow.
  for (const auto& set : first(uploaded_)) {
    set->touch();
  }
  bracket_.warm_up();
}

Race::Block Race::run_round(const Round& round, Turn turn) {
  Block block;
  const auto begin = Clock::now();
  turn.set = round.set;
  turn.place = places_.next();
  block.code = rounds_ % arms_.front().size();
  const auto blamed = [&block] { return fmt::format("arm {}", block.arm.value_or(0)); };
  try {
    take_all(round, turn, block);
    ++rounds_;
    if (arms_.front().size() > 1) {
      rehearse(turn, block);
    }
  } catch (const DriverError& failure) {
    block.replay = judge_failure(device_, failure, blamed());
    return block;
  } catch (const KernelHangs&) {
    block.replay.outcome = Outcome::timeout;
    block.replay.evidence =
        fmt::format("{} was still running after {:g} s", blamed(), turn.seconds);
    return block;
  }
  block.arm.reset();
  if (const auto taken = handover_->take(turn.place)) {
    block.handover_us = taken->each_us;
  }
  block.submission = bracket_.submission();
  block.replay.wall = Clock::now() - begin;
  // One sample may be a hiccup of this processor. Two are launches that take longer to submit than
  // the device is busy before them: then all arms are submitted in the next way.
  const auto starved = std::count_if(block.samples.begin(), block.samples.end(),
                                     [](const Sample& one) { return one.starved; });
  if (starved > 1) {
    bracket_.escalate();
  }
  return block;
}

void Race::take_all(const Round& round, Turn turn, Block& block) {
  std::vector<bool> seen(arms_.size());
  for (std::size_t i = 0; i < round.order.size(); ++i) {
    turn.arm = round.order[i];
    block.arm = turn.arm;
    turn.first = !seen[turn.arm];
    turn.keep = turn.first || round.keep_last;
    block.samples.push_back(take(turn));
    seen[turn.arm] = true;
    turn.stamp += stamps_each;
  }
}

/// Runs the copies of code that are next, untimed: code that has not run for a while is slow at
/// first. On inputs that every arm has met: a memory of those is worth nothing any more. Who runs
/// last finds its code nearer; arms take turns in that too.
void Race::rehearse(const Turn& turn, Block& block) {
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    const auto arm = (rounds_ + i) % arms_.size();
    block.arm = arm;
    auto& program = this->program(arm);
    program.restore();
    sets_[turn.set]->reset(arm);
    enqueue(program, turn.set, arm);
    wait(turn.seconds);
  }
}

void Race::enqueue(Program& program, std::size_t set, std::size_t arm) {
  program.bind(sets_[set]->addresses(arm));
  for (std::size_t i = 0; i < program.launches(); ++i) {
    program.launch(i);
  }
}

/// Throws `KernelHangs`.
void Race::wait(double seconds) {
  device_.wait(Clock::now() +
               std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
}

/// All that an arm does between the events counts. The difference of a longer and a shorter chain
/// would be free of what a launch costs once, but who knows which of the two it is in would gain by
/// being slow in the shorter one.
Race::Sample Race::take(const Turn& turn) {
  const auto sets = turn.chain > 1 ? numbers(turn.chain) : std::vector<std::size_t>{turn.set};
  measure(turn, sets);
  seals_->lend_key();
  put_aside(turn, sets);
  const auto times = bracket_.read();  // Takes the host a while, in which the device is busy.
  device_.wait(Clock::now() + patience);
  Sample sample;
  sample.latency_us = times.work_us / static_cast<double>(turn.chain);
  sample.flush_us = times.flush_us;
  sample.known_us = times.flush_us + times.waited_us + times.work_us;
  sample.starved = times.starved;
  sample.same_as_first = seals_->close();
  return sample;
}

void Race::measure(const Turn& turn, const std::vector<std::size_t>& sets) {
  auto& program = this->program(turn.arm);
  bracket_.release_lines();
  program.restore();
  fill_on_chip(device_, fresh_poison());
  if (local_) {
    local_->enqueue();
  }
  for (const auto set : sets) {
    sets_[set]->reset(turn.arm);
    // Of a chain's many pages the last would be forgotten before the first is used.
    if (sets.size() == 1) {
      sets_[set]->touch();
    }
  }
  bracket_.take_place(turn.place);
  stamps_->take(turn.stamp);
  bracket_.enqueue([&] {
    for (const auto set : sets) {
      enqueue(program, set, turn.arm);
    }
  });
  stamps_->take(turn.stamp + 1);
  wait(turn.seconds);
}

/// Enqueues comparing the outputs with those that were kept, in every bit, and keeping them. The
/// key is lent, and no other kernel has run since.
void Race::put_aside(const Turn& turn, const std::vector<std::size_t>& sets) {
  for (const auto set : sets) {
    if (!turn.first) {
      sets_[set]->compare_outputs(turn.arm, *seals_);
    }
    if (turn.keep) {
      sets_[set]->keep_outputs(turn.arm, *seals_);
    }
  }
}

/// Completes samples by what the device wrote meanwhile.
void Race::read(std::vector<Block>& blocks) {
  stamps_->fetch();
  std::size_t taken = 0;
  for (auto& block : blocks) {
    for (auto& sample : block.samples) {
      const auto span = stamps_->between(taken * stamps_each);
      sample.clock_mhz = span.clock_mhz;
      // What the stamps saw beyond the events, as if all had been one flush and one run.
      sample.span_us = sample.flush_us + sample.latency_us + (span.microseconds - sample.known_us);
      ++taken;
    }
  }
}

void Race::look_for_damage(Replay& replay) {
  std::vector<Canary> canaries;
  for (const auto& set : first(uploaded_)) {
    std::ranges::move(set->canaries(0), std::back_inserter(canaries));
  }
  if (const auto damage = canaries_.damage(std::move(canaries))) {
    replay.outcome = Outcome::fault;
    replay.evidence = *damage;
  } else if (!seals_->intact()) {
    replay.outcome = Outcome::tampered;
    replay.evidence =
        "changed what it had computed before, where the referee keeps that to check it";
  }
}

}  // namespace ouroboros::cuda
