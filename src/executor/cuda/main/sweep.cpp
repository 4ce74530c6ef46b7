#include "executor/cuda/main/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "executor/cuda/main/fault.hpp"
#include "executor/cuda/main/hygiene.hpp"
#include "executor/cuda/main/poison.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::cuda {
namespace {

/// However a launch ends, its hindrance ends with it.
class Dismissal {
 public:
  explicit Dismissal(Hindrance& hindrance) : hindrance_(hindrance) {}
  ~Dismissal() { hindrance_.end(); }
  Dismissal(const Dismissal&) = delete;
  Dismissal& operator=(const Dismissal&) = delete;

 private:
  Hindrance& hindrance_;
};

}  // namespace

Sweep::Sweep(Device& device, Hindrance& hindrance, sandbox::Descriptor arena,
             std::vector<Call> calls)
    : device_(device),
      hindrance_(hindrance),
      arena_(std::move(arena)),
      modules_(device),
      start_(device.make_event()),
      stop_(device.make_event()) {
  for (auto& call : calls) {
    buffers_.push_back(std::move(call.buffers));
    programs_.emplace_back(device, std::make_shared<const LaunchPlan>(std::move(call.plan)),
                           modules_);
  }
}

Replay Sweep::replay(std::size_t call, bool high, double seconds,
                     const std::vector<std::size_t>& without) {
  const auto begin = Clock::now();
  if (call >= programs_.size()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("there is no call {}", call));
  }
  auto& program = programs_[call];
  HostExchange arena(device_, arena_.get(), buffers_[call]);
  Memory memory(device_, arena, buffers_[call], {&program.plan()}, high);
  Replay replay;
  try {
    program.bind(memory.addresses(0));
  } catch (const LoadFailure& failure) {
    replay.outcome = Outcome::load_failed;
    replay.evidence = failure.what();
    return replay;
  }
  memory.upload();
  program.restore();
  fill_on_chip(device_, high ? fresh_number() : fresh_pattern());
  replay = run(program, seconds, without, high);
  if (replay.outcome == Outcome::returned) {
    if (const auto damage = Canaries(device_).damage(memory.canaries(0))) {
      replay.outcome = Outcome::fault;
      replay.evidence = *damage;
    }
    memory.download();
  }
  replay.wall = Clock::now() - begin;
  return replay;
}

Replay Sweep::run(const Program& program, double seconds, const std::vector<std::size_t>& without,
                  bool hindered) {
  Replay replay;
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(seconds));
  for (std::size_t i = 0; i < program.launches(); ++i) {
    replay.launches.emplace_back(0);
    if (std::find(without.begin(), without.end(), i) != without.end()) {
      continue;
    }
    const Dismissal dismissal(hindrance_);
    try {
      if (hindered) {
        replay.hindered |= hindrance_.begin();
      }
      device_.record(start_);
      program.launch(i);
      device_.record(stop_);
      device_.wait(stop_, deadline);
      replay.launches.back() = std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::duration<double, std::micro>(device_.microseconds(start_, stop_)));
      replay.elapsed += replay.launches.back();
    } catch (const DriverError& failure) {
      auto failed = judge_failure(device_, failure, program.name(i));
      failed.hindered = replay.hindered;
      return failed;
    } catch (const KernelHangs&) {
      replay.outcome = Outcome::timeout;
      replay.evidence = fmt::format("{} was still running after {:g} s", program.name(i), seconds);
      return replay;
    }
  }
  return replay;
}

}  // namespace ouroboros::cuda
