// How long kernels run by their own account while they are raced, beside what the events say.
//
//     own_times ROUNDS PLAN...
//
// Each PLAN is a file with a launch plan of the inputs x and the outputs out and spans (float32,
// and int64 of two numbers a block: when it began and ended, in nanoseconds of the device's clock):
// see clock_pairs.py. The plans race as in `report` mode, ROUNDS times on all pages. Prints JSON:
// for each plan the time between the events and its own in the same runs, in microseconds, and what
// a launch adds as each block of the race measured it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ouroboros/cuda_executor.hpp"

namespace {

using namespace ouroboros;
using nlohmann::json;

// As in a race in `report` mode: src/referee/device/race.cpp.
constexpr std::size_t sets = 20;
constexpr std::size_t code_copies = 16;

LaunchPlan read_plan(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file || text.empty()) {
    throw std::runtime_error(std::string("cannot read ") + path);
  }
  return LaunchPlan::parse(std::as_bytes(std::span(text)));
}

Call call_of(const LaunchPlan& plan) {
  Call call{"run", {}, {}};
  for (const auto& one : plan.buffers) {
    if (one.role == PlanRole::input || one.role == PlanRole::output) {
      const auto role = one.role == PlanRole::input ? BufferRole::input : BufferRole::output;
      call.buffers.push_back({one.name, role, one.dtype, one.shape});
    }
  }
  if (call.buffers.empty() || call.buffers.back().dtype != DType::int64) {
    throw std::runtime_error("the last output of a plan has to be its spans, of int64");
  }
  return call;
}

/// From the first block's begin to the last one's end.
double own_us(std::span<const std::byte> spans) {
  std::vector<std::int64_t> stamps(spans.size() / sizeof(std::int64_t));
  std::memcpy(stamps.data(), spans.data(), stamps.size() * sizeof(std::int64_t));
  auto begin = stamps.at(0);
  auto end = stamps.at(1);
  for (std::size_t i = 0; i < stamps.size(); i += 2) {
    begin = std::min(begin, stamps[i]);
    end = std::max(end, stamps[i + 1]);
  }
  return static_cast<double>(end - begin) * 1e-3;
}

class Measurement {
 public:
  explicit Measurement(std::vector<LaunchPlan> plans)
      : spans_(call_of(plans.front()).buffers.size() - 1),
        arena_(std::make_shared<Arena>(std::vector<Call>(sets, call_of(plans.front())))),
        executor_(CudaExecutor::start()),
        rows_(plans.size()),
        order_(plans.size()) {
    for (std::size_t arm = 0; arm < order_.size(); ++arm) {
      order_[arm] = arm;
    }
    CudaRaceOptions options;
    options.sets = sets;
    options.code_copies = code_copies;
    race_ = executor_->open_race(std::move(plans), arena_, options);
    require(race_->opening());
  }

  void round() {
    for (std::size_t set = 0; set < sets; ++set) {
      const auto inputs = arena_->view(set, 0, Placement::low);
      std::vector<float> values(inputs.size() / sizeof(float));
      for (auto& value : values) {
        value = std::uniform_real_distribution<float>(-1, 1)(random_);
      }
      std::memcpy(inputs.data(), values.data(), inputs.size());
    }
    race_->upload();
    std::vector<CudaRound> rounds;
    for (std::size_t set = 0; set < sets; ++set) {
      std::shuffle(order_.begin(), order_.end(), random_);
      auto order = order_;
      order.insert(order.end(), order_.rbegin(), order_.rend());
      rounds.push_back({set, order, set % 2 != 0});
    }
    const auto blocks = race_->run(rounds);
    require(blocks.back().replay);
    submission_ = to_string(blocks.back().submission);
    for (std::size_t arm = 0; arm < rows_.size(); ++arm) {
      race_->download(arm);
      for (std::size_t set = 0; set < sets; ++set) {
        add(arm, set, rounds[set], blocks[set]);
      }
    }
    auto& launches = launch_us_.emplace_back();
    for (const auto& block : blocks) {
      if (block.handover_us) {
        launches.push_back(*block.handover_us);
      }
    }
  }

  [[nodiscard]] json found() const {
    return {{"submission", submission_}, {"launch_us", launch_us_}, {"arms", rows_}};
  }

 private:
  static void require(const Replay& replay) {
    if (replay.outcome != Outcome::returned) {
      throw std::runtime_error(replay.evidence);
    }
  }

  /// The run whose outputs were kept.
  void add(std::size_t arm, std::size_t set, const CudaRound& round, const CudaBlock& block) {
    const auto& order = round.order;
    const auto first = std::find(order.begin(), order.end(), arm) - order.begin();
    const auto last = static_cast<std::ptrdiff_t>(order.size()) - 1 - first;
    const auto& sample = block.samples.at(static_cast<std::size_t>(round.keep_last ? last : first));
    if (!sample.starved) {
      rows_[arm]["between_events_us"].push_back(sample.latency_us);
      rows_[arm]["own_us"].push_back(own_us(arena_->view(set, spans_, Placement::low)));
    }
  }

  std::size_t spans_;  ///< Which buffer they are.
  std::shared_ptr<Arena> arena_;
  std::unique_ptr<CudaExecutor> executor_;
  std::unique_ptr<CudaRace> race_;
  std::vector<json> rows_;
  std::vector<std::size_t> order_;
  std::vector<std::vector<double>> launch_us_;
  std::string submission_;
  std::mt19937_64 random_{0};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: own_times ROUNDS PLAN...\n", stderr);
    return 2;
  }
  try {
    std::vector<LaunchPlan> plans;
    for (int i = 2; i < argc; ++i) {
      plans.push_back(read_plan(argv[i]));
    }
    Measurement measurement(std::move(plans));
    for (int round = std::atoi(argv[1]); round > 0; --round) {
      measurement.round();
    }
    std::puts(measurement.found().dump().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "own_times: %s\n", error.what());
    return 1;
  }
  return 0;
}
