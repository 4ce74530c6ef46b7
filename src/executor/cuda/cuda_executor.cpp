#include "ouroboros/cuda_executor.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "executor/cuda/calibration.hpp"
#include "executor/cuda/device_arena.hpp"
#include "executor/cuda/worker.hpp"
#include "executor/host/arena_layout.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros {
namespace cuda {
namespace {

using Seconds = std::chrono::duration<double>;
using nlohmann::json;

/// Beyond a candidate's own time: loading, copies and checks, which are the executor's.
constexpr Seconds grace{20};

/// Of a buffer in a device arena: what is beyond its elements is the executor's to guard.
constexpr std::size_t device_page = 64;

Replay replay_from(const json& body) {
  Replay replay;
  replay.outcome = static_cast<Outcome>(body.at("outcome").get<int>());
  replay.elapsed = std::chrono::nanoseconds(body.at("elapsed_ns").get<std::int64_t>());
  replay.wall = std::chrono::nanoseconds(body.at("wall_ns").get<std::int64_t>());
  body.at("evidence").get_to(replay.evidence);
  body.at("hindered").get_to(replay.hindered);
  for (const std::int64_t one : body.at("launches_ns")) {
    replay.launches.emplace_back(one);
  }
  return replay;
}

/// What an executor is told of a call's buffers: where its pages begin and how many bytes they are,
/// the elements' bytes, where they begin at the high end, and whether it is an output.
json buffers_of(const Arena& arena, std::size_t call) {
  const auto& layout = arena.layout();
  json result = json::array();
  for (std::size_t i = 0; i < layout.calls().at(call).buffers.size(); ++i) {
    const auto& buffer = layout.calls()[call].buffers[i];
    const auto& region = layout.region(call, i);
    result.push_back({region.arena_offset, region.bytes, buffer.bytes(),
                      layout.offset(call, i, Placement::high), buffer.role == BufferRole::output});
  }
  return result;
}

json buffers_of(const DeviceArena& arena, std::size_t set) {
  json result = json::array();
  for (std::size_t i = 0; i < arena.call().buffers.size(); ++i) {
    const auto& buffer = arena.call().buffers[i];
    const auto bytes = buffer.bytes();
    const auto pages = (bytes + device_page - 1) / device_page * device_page;
    result.push_back({arena.memory().offset(i, set), pages, bytes, pages - bytes,
                      buffer.role == BufferRole::output});
  }
  return result;
}

/// Plans one after another, and how long each is.
std::vector<std::byte> serialise(const std::vector<LaunchPlan>& plans, json& sizes) {
  std::vector<std::byte> bytes;
  sizes = json::array();
  for (const auto& plan : plans) {
    const auto one = plan.serialise();
    sizes.push_back(one.size());
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  return bytes;
}

GpuState unknown_state(const std::string& reason) {
  GpuState state;
  state.reason = reason;
  return state;
}

/// Asks a process for its GPU's state. `ask` hands on the request, and gives the answer.
template <typename Ask>
GpuState state_through(const Ask& ask) {
  try {
    const json request = {{"do", "state"}, {"referee", getpid()}, {"helpers", sandbox::leaders()}};
    const std::optional<json> reply = ask(request);
    return reply ? gpu_state_from(*reply)
                 : unknown_state(fmt::format("NVML did not answer within {:g} s", grace.count()));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) {
      throw;
    }
    return unknown_state(error.what());
  }
}

/// The processes of one executor: those in use are their sessions', one may be waiting.
class Pool {
 public:
  explicit Pool(CudaOptions options) : options_(std::move(options)) {}

  [[nodiscard]] const CudaOptions& options() const noexcept { return options_; }

  std::unique_ptr<Worker> take() {
    auto worker = waiting_ ? std::move(waiting_) : start();
    worker->greeting(options_.cancelled);
    if (!options_.reuse) {
      prepare();
    }
    return worker;
  }

  /// Takes back a process whose session has ended well.
  void give(std::unique_ptr<Worker> worker) noexcept {
    if (!options_.reuse || waiting_) {
      return;
    }
    try {
      const auto reply = worker->ask({{"do", "close"}}, grace, {});
      if (reply && reply->at("problem").get<std::string>().empty()) {
        hygiene_ms_ = reply->at("milliseconds");
        waiting_ = std::move(worker);
      }
    } catch (const std::exception&) {
      // A process that cannot be cleaned goes; the next session gets a fresh one.
    }
  }

  /// Starts the next process while the caller is busy with the end of the last.
  void prepare() noexcept {
    try {
      if (options_.spare && !waiting_) {
        waiting_ = start();
      }
    } catch (const std::exception&) {
      // Then the next session starts it, and says what is wrong.
    }
  }

  GpuState state() {
    return state_through([this](const json& request) {
      auto worker = waiting_ ? std::move(waiting_) : start();
      worker->greeting(options_.cancelled);
      auto reply = worker->ask(request, grace, options_.cancelled);
      if (reply) {
        waiting_ = std::move(worker);
      }
      return reply;
    });
  }

  /// For the first process, which is started only to see that the device can be had.
  void keep(std::unique_ptr<Worker> worker) { waiting_ = std::move(worker); }

  std::unique_ptr<Worker> start() {
    return std::make_unique<Worker>(std::to_string(options_.device), options_.libcuda);
  }

  [[nodiscard]] double hygiene_ms() const noexcept { return hygiene_ms_; }

 private:
  CudaOptions options_;
  std::unique_ptr<Worker> waiting_;
  double hygiene_ms_ = 0;
};

/// A process while it is one session's.
class Lease {
 public:
  explicit Lease(std::shared_ptr<Pool> pool) : pool_(std::move(pool)), worker_(pool_->take()) {
    isolation_ = worker_->isolation();
  }
  ~Lease() {
    if (worker_ && last_.outcome == Outcome::returned) {
      pool_->give(std::move(worker_));
    }
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  /// `memory`: the descriptor of the referee's memory. What the process said besides; empty when it
  /// stayed silent.
  json open(json request, const std::vector<LaunchPlan>& plans, int memory) {
    const auto bytes = serialise(plans, request["plans"]);
    request["seconds"] = limits().load_seconds;
    const auto patience = Seconds(limits().load_seconds) + grace;
    const auto reply = ask(request, patience, bytes, memory);
    if (reply) {
      opening_ = replay_from(*reply);
    } else {
      opening_.outcome = Outcome::load_failed;
      opening_.evidence = fmt::format("the modules were not loaded in {:g} s", patience.count());
    }
    settle(opening_);
    return reply.value_or(json::object());
  }

  /// Empty when the process stayed silent, or is gone: then `last` says why.
  std::optional<json> ask(const json& body, Seconds patience, std::span<const std::byte> bytes = {},
                          int descriptor = -1) {
    try {
      return worker_->ask(body, patience, pool_->options().cancelled, bytes, descriptor);
    } catch (...) {
      worker_.reset();
      throw;
    }
  }

  GpuState state() {
    if (!worker_) {
      return unknown_state("the session is over" +
                           (last_.evidence.empty() ? "" : ": " + last_.evidence));
    }
    return state_through([this](const json& request) {
      auto reply = ask(request, grace);
      if (!reply) {
        worker_.reset();
      }
      return reply;
    });
  }

  void settle(const Replay& replay) {
    last_ = replay;
    if (replay.outcome != Outcome::returned) {
      worker_.reset();
      pool_->prepare();
    }
  }

  [[nodiscard]] bool usable() const noexcept { return worker_ != nullptr; }
  /// Throws where the process was lost, which is no outcome of a candidate's.
  void require_process() const {
    if (!worker_ && last_.outcome == Outcome::returned) {
      throw Error(ErrorCode::executor_lost, "the CUDA executor was lost: open another session");
    }
  }
  [[nodiscard]] const Replay& opening() const noexcept { return opening_; }
  [[nodiscard]] const Replay& last() const noexcept { return last_; }
  [[nodiscard]] const Isolation& isolation() const noexcept { return isolation_; }
  [[nodiscard]] const Limits& limits() const noexcept { return pool_->options().limits; }

  [[nodiscard]] Replay silence() const {
    Replay replay;
    replay.outcome = Outcome::timeout;
    replay.evidence = fmt::format("the GPU did not answer within {:g} s",
                                  limits().replay_seconds + grace.count());
    return replay;
  }

 private:
  std::shared_ptr<Pool> pool_;
  std::unique_ptr<Worker> worker_;
  Isolation isolation_;
  Replay opening_;
  Replay last_;
};

class PlanSession final : public CudaSession {
 public:
  PlanSession(std::shared_ptr<Pool> pool, std::shared_ptr<const Arena> arena,
              const std::vector<LaunchPlan>& plans)
      : arena_(std::move(arena)), lease_(std::move(pool)) {
    json calls = json::array();
    for (std::size_t i = 0; i < plans.size(); ++i) {
      calls.push_back(buffers_of(*arena_, i));
    }
    lease_.open({{"do", "open"}, {"calls", calls}}, plans, arena_->layout().descriptor());
  }

  Replay replay(std::size_t call, Placement placement) override {
    return replay_without(call, placement, {});
  }

  Replay replay_without(std::size_t call, Placement placement,
                        const std::vector<std::size_t>& launches) override {
    lease_.require_process();
    if (!lease_.usable()) {
      return lease_.last();
    }
    const double seconds = lease_.limits().replay_seconds;
    const auto reply = lease_.ask({{"do", "replay"},
                                   {"call", call},
                                   {"high", placement == Placement::high},
                                   {"without", launches},
                                   {"seconds", seconds}},
                                  Seconds(seconds) + grace);
    lease_.settle(reply ? replay_from(*reply) : lease_.silence());
    return lease_.last();
  }

  void pin(int /*cpu*/) override {}  // The clock is the device's.

  [[nodiscard]] bool exports(std::size_t call) const override {
    return opening().outcome == Outcome::returned && call < arena_->calls().size();
  }

  [[nodiscard]] const Replay& opening() const noexcept override { return lease_.opening(); }
  [[nodiscard]] const Isolation& isolation() const noexcept override { return lease_.isolation(); }

 private:
  std::shared_ptr<const Arena> arena_;
  Lease lease_;
};

class Race final : public CudaRace {
 public:
  /// `memory` holds the buffers of `sets`, and `keeper` keeps it alive. `device_bytes`: how large
  /// it is where it is a GPU's, else 0.
  Race(std::shared_ptr<Pool> pool, std::shared_ptr<const void> keeper, int memory,
       std::uint64_t device_bytes, const json& sets, const std::vector<LaunchPlan>& arms,
       const CudaRaceOptions& options)
      : keeper_(std::move(keeper)), lease_(std::move(pool)) {
    if (arms.empty() || sets.empty() || options.code_copies == 0) {
      throw Error(ErrorCode::invalid_argument,
                  "a race needs an arm, a call of the arena and a copy of its code");
    }
    const auto reply = lease_.open({{"do", "open_race"},
                                    {"sets", sets},
                                    {"device_bytes", device_bytes},
                                    {"cache", static_cast<int>(options.cache)},
                                    {"padding", options.padding_bytes},
                                    {"code_copies", options.code_copies}},
                                   arms, memory);
    code_copies_ = reply.value("code_copies", std::size_t{0});
  }

  [[nodiscard]] const Replay& opening() const noexcept override { return lease_.opening(); }
  [[nodiscard]] const Isolation& isolation() const noexcept override { return lease_.isolation(); }

  void upload(std::size_t sets) override { require_answer({{"do", "upload"}, {"sets", sets}}); }
  void download(std::size_t arm, std::size_t sets) override {
    require_answer({{"do", "download"}, {"arm", arm}, {"sets", sets}});
  }
  [[nodiscard]] std::size_t code_copies() const noexcept override { return code_copies_; }

  std::vector<CudaBlock> run(const std::vector<CudaRound>& rounds, std::size_t chain) override {
    lease_.require_process();
    std::vector<CudaBlock> blocks;
    if (!lease_.usable()) {
      blocks.emplace_back().replay = lease_.last();
      return blocks;
    }
    json list = json::array();
    std::size_t samples = 0;
    for (const auto& round : rounds) {
      list.push_back({round.set, round.order, round.keep_last});
      samples += round.order.size();
    }
    const double seconds = lease_.limits().replay_seconds;
    const auto patience = Seconds(seconds * static_cast<double>(samples * chain)) + grace;
    const auto reply = lease_.ask(
        {{"do", "run"}, {"rounds", list}, {"chain", chain}, {"seconds", seconds}}, patience);
    if (!reply) {
      blocks.emplace_back().replay = lease_.silence();
      lease_.settle(blocks.back().replay);
      return blocks;
    }
    for (const auto& one : reply->at("blocks")) {
      auto& block = blocks.emplace_back();
      block.replay = replay_from(one);
      block.submission = static_cast<Submission>(one.at("submission").get<int>());
      if (const auto& arm = one.at("arm"); !arm.is_null()) {
        block.arm = arm.get<std::size_t>();
      }
      one.at("code").get_to(block.code);
      if (const auto& handover = one.at("handover_us"); !handover.is_null()) {
        block.handover_us = handover.get<double>();
      }
      for (const auto& sample : one.at("samples")) {
        block.samples.push_back(
            {sample.at(0), sample.at(1), sample.at(2), sample.at(3), sample.at(4), sample.at(5)});
      }
      lease_.settle(block.replay);
    }
    return blocks;
  }

  [[nodiscard]] GpuState state() override { return lease_.state(); }

 private:
  json require_answer(const json& body) {
    lease_.require_process();
    if (!lease_.usable()) {
      throw Error(ErrorCode::invalid_argument, "the race is over: " + lease_.last().evidence);
    }
    auto reply = lease_.ask(body, grace + grace);
    if (!reply) {
      throw Error(ErrorCode::executor_lost, "the CUDA executor does not answer");
    }
    return *std::move(reply);
  }

  std::shared_ptr<const void> keeper_;
  Lease lease_;
  std::size_t code_copies_ = 0;
};

class Executor final : public CudaExecutor {
 public:
  explicit Executor(const CudaOptions& options) : pool_(std::make_shared<Pool>(options)) {
    auto worker = pool_->start();
    device_ = device_from(worker->greeting(options.cancelled));
    pool_->keep(std::move(worker));
  }

  [[nodiscard]] const CudaDevice& device() const noexcept override { return device_; }

  std::unique_ptr<CudaSession> open(std::vector<LaunchPlan> plans,
                                    std::shared_ptr<const Arena> arena) override {
    if (plans.size() != arena->calls().size()) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("there are {} plans for the arena's {} calls", plans.size(),
                              arena->calls().size()));
    }
    return std::make_unique<PlanSession>(pool_, std::move(arena), plans);
  }

  std::unique_ptr<CudaRace> open_race(std::vector<LaunchPlan> arms,
                                      std::shared_ptr<const Arena> arena,
                                      const CudaRaceOptions& options) override {
    const int memory = arena->layout().descriptor();
    json sets = json::array();
    for (std::size_t i = 0; i < options.sets; ++i) {
      if (options.first_call + i >= arena->calls().size()) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("the arena has no call {}", options.first_call + i));
      }
      sets.push_back(buffers_of(*arena, options.first_call + i));
    }
    return std::make_unique<Race>(pool_, std::move(arena), memory, 0, sets, arms, options);
  }

  std::unique_ptr<CudaRace> open_race(std::vector<LaunchPlan> arms,
                                      std::shared_ptr<const DeviceArena> arena,
                                      const CudaRaceOptions& options) override {
    const auto& memory = arena->memory();
    if (options.first_call + options.sets > memory.sets()) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the arena has {} sets, not {}", memory.sets(),
                              options.first_call + options.sets));
    }
    json sets = json::array();
    for (std::size_t i = 0; i < options.sets; ++i) {
      sets.push_back(buffers_of(*arena, options.first_call + i));
    }
    return std::make_unique<Race>(pool_, std::move(arena), memory.descriptor(), memory.bytes(),
                                  sets, arms, options);
  }

  [[nodiscard]] Calibration calibrate() override {
    auto worker = pool_->take();
    const auto reply =
        worker->ask({{"do", "calibrate"}}, grace + grace, pool_->options().cancelled);
    if (!reply) {
      throw Error(ErrorCode::executor_lost, "the CUDA executor does not answer");
    }
    pool_->give(std::move(worker));
    return calibration_from(*reply, device_);
  }

  [[nodiscard]] GpuState state() override { return pool_->state(); }

  [[nodiscard]] double hygiene_ms() const noexcept override { return pool_->hygiene_ms(); }

 private:
  std::shared_ptr<Pool> pool_;
  CudaDevice device_;
};

}  // namespace
}  // namespace cuda

CudaSession::~CudaSession() = default;
CudaRace::~CudaRace() = default;
CudaExecutor::~CudaExecutor() = default;

void own_process(std::int64_t pid, bool own) {
  own ? sandbox::add_leader(static_cast<pid_t>(pid))
      : sandbox::remove_leader(static_cast<pid_t>(pid));
}

std::string_view to_string(Submission submission) noexcept {
  switch (submission) {
    case Submission::stream:
      return "stream";
    case Submission::gate:
      return "gate";
    case Submission::graph:
      return "graph";
  }
  return "unknown";
}

CudaBlock CudaRace::run_block(const std::vector<std::size_t>& order) {
  return std::move(run({{0, order}}).front());
}

std::unique_ptr<CudaExecutor> CudaExecutor::start(const CudaOptions& options) {
  return std::make_unique<cuda::Executor>(options);
}

}  // namespace ouroboros
