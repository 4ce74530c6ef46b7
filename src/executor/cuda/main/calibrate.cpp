#include "executor/cuda/main/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "executor/cuda/main/bracket.hpp"
#include "executor/cuda/main/handover.hpp"
#include "executor/cuda/main/module.hpp"
#include "executor/cuda/main/places.hpp"
#include "executor/cuda/main/stream_kernels.hpp"

namespace ouroboros::cuda {
namespace {

using nlohmann::json;

constexpr auto patience = std::chrono::seconds{30};
constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t probe_bytes = 8 * mebibyte;  ///< Of each side of a copy that fits the cache.
constexpr unsigned threads = 256;
constexpr unsigned blocks_each = 8;  ///< On a multiprocessor, of a kernel that stays.
constexpr std::size_t curve_bytes[] = {mebibyte,      4 * mebibyte,   16 * mebibyte,
                                       64 * mebibyte, 256 * mebibyte, 1024 * mebibyte};

/// Memory to move, and what moves it.
class Mover {
 public:
  Mover(Device& device, std::size_t most)
      : device_(device), from_(device, most), to_(device, most), sink_(device, 4) {
    const auto& driver = device.driver();
    const auto text = stream_kernels_ptx();
    driver.check(driver.cuModuleLoadData(&module_, text.c_str()), "loading the copy kernels");
    from_.fill(from_.begin(), from_.end(), 0);
    to_.fill(to_.begin(), to_.end(), 0);
    device.wait(Clock::now() + patience);
  }
  ~Mover() { device_.driver().cuModuleUnload(module_); }
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  /// How a kernel covers its words: with as many threads as the device holds, which stay, or with
  /// as many as there are words.
  enum class Cover { stay, all };

  /// Enqueues a move of about `bytes`, read and written together. Returns how many they are.
  std::size_t move(const StreamMix& mix, std::size_t bytes, Cover cover) const {
    const std::uint64_t streams = mix.reads + mix.writes;
    std::uint64_t words = bytes / 16 / streams;
    const std::uint64_t step = std::uint64_t{threads} * 4;
    std::uint64_t grid = std::max<std::uint64_t>(words / step, 1);
    if (cover == Cover::stay) {
      grid = std::min<std::uint64_t>(grid, std::uint64_t{device_.multiprocessors()} * blocks_each);
    }
    words = std::max<std::uint64_t>(words / (grid * step), 1) * grid * step;
    const Address from = from_.begin();
    const Address to = to_.begin();
    const Address sink = sink_.begin();
    const void* parameters[] = {&from, &to, &words, &sink, nullptr};
    LaunchConfiguration configuration;
    configuration.grid[0] = static_cast<unsigned>(grid);
    configuration.block[0] = threads;
    configuration.stream = device_.stream();
    device_.launch(configuration, function(mix), const_cast<void**>(parameters), nullptr,
                   "moving memory");
    return words * 16 * streams;
  }

  /// The driver's own copy of half of `bytes`, which is read and written.
  std::size_t copy(std::size_t bytes) const {
    device_.driver().check(device_.copy(to_.begin(), from_.begin(), bytes / 2), "the copy");
    return bytes / 2 * 2;
  }

  /// Leaves written lines in the cache, as a memset that is meant to flush it does.
  void dirty(std::size_t bytes) const {
    to_.fill(to_.end() - std::min(bytes, to_.bytes()), to_.end(), 0);
  }

 private:
  [[nodiscard]] FunctionHandle function(const StreamMix& mix) const {
    FunctionHandle found = nullptr;
    device_.driver().check(
        device_.driver().cuModuleGetFunction(
            &found, module_, fmt::format("ouroboros_move_{}_{}", mix.reads, mix.writes).c_str()),
        "finding a copy kernel");
    return found;
  }

  Device& device_;
  Range from_;
  Range to_;
  Range sink_;
  ModuleHandle module_ = nullptr;
};

/// Repeats a measurement. The first is a warm-up.
template <typename Work>
json repeat(Device& device, Bracket& bracket, std::size_t count, const Work& work) {
  json times = json::array();
  Places places;
  for (std::size_t i = 0; i <= count; ++i) {
    bracket.take_place(places.next());
    bracket.enqueue(work);
    bracket.follow();
    device.wait(Clock::now() + patience);
    if (i != 0) {
      times.push_back(bracket.read().work_us);
    }
  }
  return times;
}

json handovers(Handover handover, std::size_t count, double Handover::Taken::* what) {
  json times = json::array();
  Places places;
  for (std::size_t i = 0; i < count; ++i) {
    if (const auto taken = handover.take(places.next())) {
      times.push_back(*taken.*what);
    }
  }
  return times;
}

/// A move behind `before` and without the bracket's own flush.
template <typename Before>
json probe(Device& device, const Mover& mover, std::size_t count, const StreamMix& mix,
           std::size_t bytes, const Before& before) {
  const auto start = device.make_event();
  const auto stop = device.make_event();
  json times = json::array();
  for (std::size_t i = 0; i <= count; ++i) {
    before();
    device.record(start);
    mover.move(mix, bytes, Mover::Cover::stay);
    device.record(stop);
    device.wait(Clock::now() + patience);
    if (i != 0) {
      times.push_back(device.microseconds(start, stop));
    }
  }
  return times;
}

/// A read of as much as the cache holds finds there what a flush has left.
json flushes(Device& device, const Mover& mover) {
  json sizes = json::array();
  for (const unsigned l2_sizes : {1U, 2U, 4U, 8U}) {
    Flush flush(device, l2_sizes);
    sizes.push_back({{"bytes", flush.bytes()},
                     {"read_us", probe(device, mover, 32, {1, 0}, device.l2_bytes(),
                                       [&] { flush.enqueue(); })}});
  }
  return sizes;
}

json timer_steps_ns(Device& device) {
  const Range out(device, sizeof(std::uint64_t));
  json steps = json::array();
  for (int look = 0; look < 8; ++look) {
    device.launch("ouroboros_step", 1, 1, 0, out.begin());
    device.wait(Clock::now() + patience);
    std::uint64_t step = 0;
    device.driver().check(device.driver().cuMemcpyDtoH(&step, out.begin(), sizeof step),
                          "cuMemcpyDtoH");
    steps.push_back(step);
  }
  return steps;
}

json curve(Device& device, Bracket& bracket, const Mover& mover, std::size_t most) {
  json points = json::array();
  for (const auto& mix : stream_mixes) {
    for (const auto bytes : curve_bytes) {
      if (bytes > most) {
        continue;
      }
      const std::size_t count = bytes > 256 * mebibyte ? 8 : 16;
      const auto measure = [&](const auto& move) {
        std::size_t moved = 0;
        auto times = repeat(device, bracket, count, [&] { moved = move(); });
        points.push_back({{"reads", mix.reads},
                          {"writes", mix.writes},
                          {"bytes", moved},
                          {"us", std::move(times)}});
      };
      for (const auto cover : {Mover::Cover::stay, Mover::Cover::all}) {
        measure([&] { return mover.move(mix, bytes, cover); });
      }
      if (mix.reads == 1 && mix.writes == 1) {
        measure([&] { return mover.copy(bytes); });
      }
    }
  }
  return points;
}

}  // namespace

json calibrate(Device& device) {
  const std::size_t most =
      std::clamp<std::size_t>(device.free_bytes() / 8, 4 * probe_bytes, 1024 * mebibyte);
  Bracket bracket(device);
  const Mover mover(device, most);
  // Clocks rise while nothing depends on them.
  for (int i = 0; i < 32; ++i) {
    bracket.enqueue([&] { mover.move({1, 1}, 64 * mebibyte, Mover::Cover::stay); });
    device.wait(Clock::now() + patience);
  }
  json result;
  for (const auto& [name, submission] :
       {std::pair{"stream", Submission::stream}, std::pair{"gate", Submission::gate},
        std::pair{"graph", Submission::graph}}) {
    bracket.use(submission);
    result["launch_us"][name] =
        handovers(Handover(device, bracket, 1), 64, &Handover::Taken::each_us);
    result["gap_us"][name] = handovers(Handover(device, bracket, 8), 32, &Handover::Taken::gap_us);
    result["empty_us"][name] =
        repeat(device, bracket, 64, [&] { device.launch("ouroboros_empty", 1, 32, 0); });
  }
  bracket.use(Submission::stream);
  json flush_us = json::array();
  json steps = json::array();
  for (std::size_t i = 0; i < 128; ++i) {
    // Of many lengths, so that the clock's step shows.
    bracket.enqueue([&] { mover.move({1, 1}, mebibyte + i * 65536, Mover::Cover::stay); });
    bracket.follow();
    device.wait(Clock::now() + patience);
    const auto times = bracket.read();
    flush_us.push_back(times.flush_us);
    steps.push_back(times.work_us);
  }
  result["flush_us"] = flush_us;
  result["tick_us"] = steps;
  Flush flush(device);
  constexpr StreamMix copy{1, 1};
  result["flush_bytes"] = flush.bytes();
  result["flush_sizes"] = flushes(device, mover);
  const auto copied = [&](const auto& before) {
    return probe(device, mover, 64, copy, 2 * probe_bytes, before);
  };
  result["clean_copy_us"] = copied([&] { flush.enqueue(); });
  result["dirty_copy_us"] = copied([&] { mover.dirty(2 * device.l2_bytes()); });
  result["hot_copy_us"] = copied([&] { mover.move(copy, 2 * probe_bytes, Mover::Cover::stay); });
  result["globaltimer_step_ns"] = timer_steps_ns(device);
  result["curve"] = curve(device, bracket, mover, most);
  // The caller tosses the coins: here the order is the plain one, sample by sample.
  result["same_us"] =
      repeat(device, bracket, 128, [&] { mover.move({1, 1}, 64 * mebibyte, Mover::Cover::stay); });
  result["memory_clock_khz"] = device.description().at("memory_clock_khz");
  result["memory_bus_bits"] = device.description().at("memory_bus_bits");
  return result;
}

}  // namespace ouroboros::cuda
