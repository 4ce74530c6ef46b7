// ouroboros-cuda-executor: replays launch plans on one CUDA device.
//
//   ouroboros-cuda-executor DEVICE     serves the socket that it inherits until it is closed
//   ouroboros-cuda-executor --probe    sends what devices there are, and ends
//
// It runs no code of a candidate's on the host; on the device the candidate is hostile. Whatever
// leaves the device in doubt (a fault, a kernel that hangs) ends the process after the answer.

#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "executor/cuda/frame.hpp"
#include "executor/cuda/main/calibrate.hpp"
#include "executor/cuda/main/hindrance.hpp"
#include "executor/cuda/main/hygiene.hpp"
#include "executor/cuda/main/nvml.hpp"
#include "executor/cuda/main/race.hpp"
#include "executor/cuda/main/sweep.hpp"
#include "ouroboros/error.hpp"

namespace {

using namespace ouroboros;
using namespace ouroboros::cuda;
using nlohmann::json;

void wait_forever(int socket) {
  pollfd ready{socket, POLLIN, 0};
  poll(&ready, 1, -1);
}

json to_json(const Replay& replay) {
  json launches = json::array();
  for (const auto one : replay.launches) {
    launches.push_back(one.count());
  }
  return {{"launches_ns", launches},
          {"outcome", static_cast<int>(replay.outcome)},
          {"evidence", replay.evidence},
          {"hindered", replay.hindered},
          {"elapsed_ns", replay.elapsed.count()},
          {"wall_ns", replay.wall.count()}};
}

json to_json(const GpuState& state) {
  return {{"sm_clock_mhz", state.sm_clock_mhz},
          {"sm_clock_max_mhz", state.sm_clock_max_mhz},
          {"memory_clock_mhz", state.memory_clock_mhz},
          {"power_w", state.power_w},
          {"power_limit_w", state.power_limit_w},
          {"temperature_c", state.temperature_c},
          {"slowdowns", state.slowdowns},
          {"clocks_locked", state.clocks_locked},
          {"other_processes", state.other_processes},
          {"other_busy_percent", state.other_busy_percent},
          {"shared", state.shared},
          {"power_violation_ns", state.power_violation_ns},
          {"thermal_violation_ns", state.thermal_violation_ns},
          {"reason", state.reason}};
}

json load_failed(const std::string& evidence) {
  Replay replay;
  replay.outcome = Outcome::load_failed;
  replay.evidence = evidence;
  return to_json(replay);
}

std::vector<ArenaBuffer> arena_buffers(const json& list) {
  std::vector<ArenaBuffer> buffers;
  for (const auto& one : list) {
    buffers.push_back({one.at(0), one.at(1), one.at(2), one.at(3), one.at(4)});
  }
  return buffers;
}

/// The plans that lie one after another in a frame's bytes.
std::vector<LaunchPlan> plans(const Frame& frame) {
  std::vector<LaunchPlan> result;
  std::size_t at = 0;
  for (const std::size_t size : frame.body.at("plans")) {
    if (size > frame.bytes.size() - at) {
      throw Error(ErrorCode::invalid_argument, "a plan is cut short");
    }
    result.push_back(LaunchPlan::parse(std::span(frame.bytes).subspan(at, size)));
    at += size;
  }
  return result;
}

class Server {
 public:
  explicit Server(Device& device)
      : device_(device), hindrance_(device), nvml_(device.description().at("uuid")) {}

  /// The answer to one request.
  json answer(Frame& frame) {
    const auto& body = frame.body;
    const std::string what = body.at("do");
    if (what == "open") {
      return open(frame);
    }
    if (what == "open_race") {
      return open_race(frame);
    }
    if (what == "close") {
      return close();
    }
    if (what == "state") {
      return to_json(nvml_.state({body.at("referee"), body.at("helpers")}));
    }
    if (what == "replay" && sweep_) {
      return finish(sweep_->replay(body.at("call"), body.at("high"), body.at("seconds"),
                                   body.at("without").get<std::vector<std::size_t>>()));
    }
    if (what == "upload" && race_) {
      race_->upload(body.at("sets"));
      return json::object();
    }
    if (what == "run" && race_) {
      return run(body);
    }
    if (what == "download" && race_) {
      race_->download(body.at("arm"), body.at("sets"));
      return json::object();
    }
    if (what == "calibrate" && !race_ && !sweep_) {
      return calibrate(device_);
    }
    throw Error(ErrorCode::internal, "the CUDA executor cannot '" + what + "' now");
  }

  /// Whether the device may be trusted no longer.
  [[nodiscard]] bool doubtful() const noexcept { return doubtful_; }

 private:
  json open(Frame& frame) {
    const auto begin = Clock::now();
    try {
      std::vector<Sweep::Call> calls;
      auto parsed = plans(frame);
      for (std::size_t i = 0; i < parsed.size(); ++i) {
        calls.push_back({arena_buffers(frame.body.at("calls").at(i)), std::move(parsed[i])});
      }
      sweep_ = std::make_unique<Sweep>(device_, hindrance_, std::move(frame.descriptor),
                                       std::move(calls));
    } catch (const LoadFailure& failure) {
      return load_failed(failure.what());
    }
    Replay opening;
    opening.wall = Clock::now() - begin;
    return to_json(opening);
  }

  json open_race(Frame& frame) {
    const auto begin = Clock::now();
    try {
      std::vector<std::vector<ArenaBuffer>> sets;
      std::vector<ArenaBuffer> all;
      for (const auto& list : frame.body.at("sets")) {
        sets.push_back(arena_buffers(list));
        all.insert(all.end(), sets.back().begin(), sets.back().end());
      }
      const Race::Setup setup{frame.body.at("padding"), frame.body.at("code_copies"),
                              static_cast<Cache>(frame.body.at("cache").get<int>())};
      race_ = std::make_unique<Race>(device_, exchange(frame, all), sets, plans(frame), setup);
    } catch (const LoadFailure& failure) {
      return load_failed(failure.what());
    }
    Replay opening;
    opening.wall = Clock::now() - begin;
    auto answer = to_json(opening);
    answer["code_copies"] = race_->code_copies();
    return answer;
  }

  std::unique_ptr<Exchange> exchange(const Frame& frame, const std::vector<ArenaBuffer>& buffers) {
    if (const std::uint64_t bytes = frame.body.at("device_bytes"); bytes != 0) {
      return std::make_unique<DeviceExchange>(device_, frame.descriptor, bytes);
    }
    return std::make_unique<HostExchange>(device_, frame.descriptor.get(), buffers);
  }

  json close() {
    const auto begin = Clock::now();
    sweep_.reset();
    race_.reset();
    const auto problem = clean(device_);
    doubtful_ = !problem.empty();
    const std::chrono::duration<double, std::milli> spent = Clock::now() - begin;
    return {{"problem", problem}, {"milliseconds", spent.count()}};
  }

  json run(const json& body) {
    std::vector<Race::Round> rounds;
    for (const auto& one : body.at("rounds")) {
      rounds.push_back({one.at(0), one.at(1).get<std::vector<std::size_t>>(), one.at(2)});
    }
    json blocks = json::array();
    for (const auto& block : race_->run(rounds, body.at("chain"), body.at("seconds"))) {
      json samples = json::array();
      for (const auto& one : block.samples) {
        samples.push_back({one.latency_us, one.flush_us, one.span_us, one.clock_mhz, one.starved,
                           one.same_as_first});
      }
      auto answer = finish(block.replay);
      answer["samples"] = std::move(samples);
      answer["submission"] = static_cast<int>(block.submission);
      answer["arm"] = block.arm ? json(*block.arm) : json();
      answer["code"] = block.code;
      answer["handover_us"] = block.handover_us ? json(*block.handover_us) : json();
      blocks.push_back(std::move(answer));
    }
    return {{"blocks", std::move(blocks)}};
  }

  json finish(const Replay& replay) {
    doubtful_ = replay.outcome != Outcome::returned && replay.outcome != Outcome::load_failed;
    return to_json(replay);
  }

  Device& device_;
  Hindrance hindrance_;
  Nvml nvml_;
  std::unique_ptr<Sweep> sweep_;
  std::unique_ptr<Race> race_;
  bool doubtful_ = false;
};

json failure(ErrorCode code, const std::string& message) {
  return {{"error", static_cast<int>(code)}, {"message", message}};
}

json probe() {
  try {
    const Driver driver;
    int count = 0;
    driver.check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount");
    json devices = json::array();
    for (int i = 0; i < count; ++i) {
      devices.push_back(describe_device(driver, i));
    }
    return {{"devices", devices}, {"reason", count == 0 ? "the driver sees no CUDA device" : ""}};
  } catch (const std::exception& error) {
    return {{"devices", json::array()}, {"reason", error.what()}};
  }
}

/// Answers requests until the referee closes its end, or until the device is in doubt.
void serve(Device& device) {
  Server server(device);
  while (!server.doubtful()) {
    auto frame = receive_frame(socket_descriptor, wait_forever);
    json reply;
    bool lost = false;
    try {
      reply = server.answer(frame);
    } catch (const Error& error) {
      reply = failure(error.code(), error.what());
      lost = error.code() == ErrorCode::executor_lost;
    } catch (const DriverError& error) {
      const bool memory = error.status == status_out_of_memory;
      reply = failure(memory ? ErrorCode::out_of_memory : ErrorCode::executor_lost, error.what());
      lost = !memory;
    } catch (const KernelHangs&) {
      reply = failure(ErrorCode::executor_lost, "the device does not answer");
      lost = true;
    } catch (const std::exception& error) {
      reply = failure(ErrorCode::internal, error.what());
    }
    send_frame(socket_descriptor, reply);
    if (lost) {
      _exit(1);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    return 2;
  }
  try {
    if (std::string(arguments[1]) == "--probe") {
      send_frame(socket_descriptor, probe());
      return 0;
    }
    json refusal;
    try {
      const Driver driver;
      Device device(driver, std::atoi(arguments[1]));
      send_frame(socket_descriptor, device.description());
      serve(device);
    } catch (const NoDriver& error) {
      refusal = failure(ErrorCode::unsupported, error.what());
    } catch (const DriverError& error) {
      const bool memory = error.status == status_out_of_memory;
      refusal = failure(memory ? ErrorCode::out_of_memory : ErrorCode::unsupported, error.what());
    }
    if (!refusal.is_null()) {
      send_frame(socket_descriptor, refusal);
    }
  } catch (const std::exception&) {
    // The referee has closed its end: there is nobody left to tell.
  }
  // The context goes with the process. Destroying it first could wait for a kernel that hangs.
  _exit(0);
}
