// The CUDA executor on a real GPU: what its guards stop, how kernels' ends are told apart, and what
// its clock says. Needs nvcc. The figures that it prints go into benchmarks/results.

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "cuda_plans.hpp"
#include "launch_plans.hpp"
#include "ouroboros/error.hpp"
#include "processes.hpp"

using namespace ouroboros;
using namespace ouroboros_test;

namespace {

// A multiple of 16: placed high, the last element meets the guard.
constexpr std::int64_t count = 16 * 6250;
constexpr std::int64_t bytes = count * 4;
constexpr Placement placements[] = {Placement::low, Placement::high};

/// The test kernels for this machine's GPU, compiled once with each set of flags.
const std::vector<std::byte>& cubin(const std::string& flags = "") {
  static std::map<std::string, std::vector<std::byte>> compiled;
  auto& image = compiled[flags];
  if (image.empty()) {
    const auto found = cuda_devices();
    INFO(found.reason);
    REQUIRE_FALSE(found.devices.empty());
    const Folder folder;
    const auto path = (folder.path() / "kernels.cubin").string();
    const std::string command =
        "PATH=$PATH:/usr/local/cuda/bin nvcc -cubin -arch=" + found.devices[0].target + " " +
        flags + " -o " + path + " " + OUROBOROS_SOURCE_DIR + "/tests/cpp/cuda/executor_kernels.cu";
    REQUIRE(std::system(command.c_str()) == 0);
    image = read_bytes(path);
  }
  return image;
}

PlanBuilder builder(std::int64_t elements = count) { return {elements, cubin()}; }

LaunchPlan plan_of(const std::string& function, std::uint32_t grid = 64) {
  auto plan = builder();
  plan.kernel(function, grid);
  return plan.plan();
}

LaunchPlan touch(const std::string& function, std::int64_t offset) {
  auto plan = builder();
  plan.kernel(function, 1);
  plan.number(offset);
  return plan.plan();
}

/// One executor for all tests that leave it alive.
CudaExecutor& shared_executor() {
  static const auto executor = [] {
    CudaOptions options;
    options.reuse = true;
    options.limits.replay_seconds = 1.0;
    return CudaExecutor::start(options);
  }();
  return *executor;
}

struct Fixture {
  explicit Fixture(const LaunchPlan& plan, std::int64_t elements = count)
      : call(elements), session(shared_executor().open({plan}, call.arena())) {
    INFO(session->opening().evidence);
    REQUIRE(session->opening().outcome == Outcome::returned);
  }

  Replay run(Placement placement = Placement::low) const {
    call.prepare(placement);
    return session->replay(0, placement);
  }

  OneCall call;
  std::unique_ptr<Session> session;
};

void require_doubled(const LaunchPlan& plan, std::int64_t elements = count) {
  const Fixture fixture(plan, elements);
  for (const auto placement : placements) {
    const auto replay = fixture.run(placement);
    INFO(replay.evidence);
    REQUIRE(replay.outcome == Outcome::returned);
    CHECK(replay.elapsed.count() > 0);
    CHECK(fixture.call.doubled(placement));
    CHECK_FALSE(fixture.call.arena()->slack_damage(0, placement, OneCall::seed).has_value());
  }
}

/// Another program that takes nearly all of the GPU's memory, while this lives.
class Filler {
 public:
  Filler() {
    int ready[2];
    int end[2];
    REQUIRE(pipe(ready) == 0);
    REQUIRE(pipe(end) == 0);
    child_ = fork();
    REQUIRE(child_ >= 0);
    if (child_ == 0) {
      close(end[1]);
      const char full = fill() ? 1 : 0;
      char nothing = 0;
      const bool told = write(ready[1], &full, 1) == 1;
      _exit(told && read(end[0], &nothing, 1) == 0 ? 0 : 1);
    }
    close(ready[1]);
    close(end[0]);
    end_ = end[1];
    char full = 0;
    full_ = read(ready[0], &full, 1) == 1 && full == 1;
    close(ready[0]);
  }
  ~Filler() {
    close(end_);
    waitpid(child_, nullptr, 0);
  }
  Filler(const Filler&) = delete;
  Filler& operator=(const Filler&) = delete;

  [[nodiscard]] bool full() const { return full_; }

 private:
  /// False where there is no driver to ask.
  static bool fill() {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == nullptr) return false;
    const auto call = [&](const char* name, auto... arguments) {
      const auto function = reinterpret_cast<int (*)(decltype(arguments)...)>(dlsym(driver, name));
      return function == nullptr ? -1 : function(arguments...);
    };
    void* context = nullptr;
    if (call("cuInit", 0U) != 0 || call("cuDevicePrimaryCtxRetain", &context, 0) != 0 ||
        call("cuCtxSetCurrent", context) != 0) {
      return false;
    }
    std::size_t taken = 0;
    for (std::size_t size = std::size_t{16} << 30; size >= std::size_t{1} << 20;) {
      std::uint64_t address = 0;
      if (call("cuMemAlloc_v2", &address, size) == 0) {
        taken += size;
      } else {
        size /= 2;
      }
    }
    return taken > 0;
  }

  pid_t child_ = -1;
  int end_ = -1;
  bool full_ = false;
};

double mean_log(const CudaBlock& block, std::size_t first, std::size_t second) {
  return (std::log(block.samples[first].latency_us) + std::log(block.samples[second].latency_us)) /
         2;
}

struct Ratio {
  double value = 0;
  double half_width = 0;  ///< Two standard errors, as a fraction.
  double starved = 0;     ///< Fraction of samples.
  double first_us = 0;
};

/// Arm 1 over arm 0 in randomised blocks.
Ratio ratio(CudaRace& race, const OneCall& call, int blocks) {
  std::vector<double> logs;
  double starved = 0;
  Ratio result;
  call.prepare(Placement::low);
  race.upload();
  race.run_block({0, 1, 0, 1, 0, 1, 0, 1});  // Clocks and caches settle.
  std::uint32_t coin = 12345;
  for (int i = 0; i < blocks; ++i) {
    coin = coin * 1664525u + 1013904223u;
    const bool flip = (coin >> 31) != 0;
    const auto block = race.run_block(flip ? std::vector<std::size_t>{1, 0, 0, 1}
                                           : std::vector<std::size_t>{0, 1, 1, 0});
    INFO(block.replay.evidence);
    REQUIRE(block.replay.outcome == Outcome::returned);
    const double outer = mean_log(block, 0, 3);
    const double inner = mean_log(block, 1, 2);
    logs.push_back(flip ? outer - inner : inner - outer);
    result.first_us += block.samples[flip ? 1 : 0].latency_us / blocks;
    for (const auto& sample : block.samples) {
      CHECK(sample.same_as_first);
      starved += sample.starved;
    }
  }
  double mean = 0;
  for (const double one : logs) mean += one / blocks;
  double variance = 0;
  for (const double one : logs) variance += (one - mean) * (one - mean) / (blocks - 1);
  result.value = std::exp(mean);
  result.half_width = 2 * std::sqrt(variance / blocks);
  result.starved = starved / (4.0 * blocks);
  return result;
}

}  // namespace

TEST_CASE("figures of the executor on this GPU", "[gpu]") {
  using Clock = std::chrono::steady_clock;
  const auto ms = [](Clock::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
  };
  auto begin = Clock::now();
  auto& executor = shared_executor();
  const double start_ms = ms(Clock::now() - begin);
  const auto& device = executor.device();
  std::printf("device: %s %s %s, %d SMs, L2 %.1f MB, free %.1f GB, driver %d, pageable access %d\n",
              device.name.c_str(), device.target.c_str(), device.uuid.c_str(),
              device.multiprocessors, static_cast<double>(device.l2_bytes) / 1e6,
              static_cast<double>(device.free_bytes) / 1e9, device.driver_version,
              device.pageable_access);
  std::printf("executor start: %.1f ms\n", start_ms);
  {
    const Fixture fixture(plan_of("scale"));
    const auto& isolation = fixture.session->isolation();
    std::printf("isolation: level %s, landlock %d, limits %d, namespaces", isolation.level.c_str(),
                isolation.landlock_abi, isolation.resource_limits);
    for (const auto& one : isolation.namespaces) std::printf(" %s", one.c_str());
    std::printf("\n");
    for (const auto& one : isolation.missing) std::printf("missing: %s\n", one.c_str());
    std::printf("opening: %.2f ms\n",
                static_cast<double>(fixture.session->opening().wall.count()) / 1e6);
    for (int i = 0; i < 4; ++i) {
      const auto replay = fixture.run(placements[i % 2]);
      REQUIRE(replay.outcome == Outcome::returned);
      std::printf("replay of 400 kB: device %.1f us, wall %.2f ms\n",
                  static_cast<double>(replay.elapsed.count()) / 1e3,
                  static_cast<double>(replay.wall.count()) / 1e6);
    }
  }
  for (int i = 0; i < 3; ++i) {
    begin = Clock::now();
    const Fixture fixture(plan_of("scale"));
    const double open_ms = ms(Clock::now() - begin);
    REQUIRE(fixture.run().outcome == Outcome::returned);
    std::printf("reused: open %.2f ms, hygiene %.2f ms\n", open_ms, executor.hygiene_ms());
  }
  {
    constexpr std::int64_t large = 16 << 20;
    auto plan = builder(large);
    plan.kernel("scale", 1056);
    const Fixture fixture(plan.plan(), large);
    for (const auto placement : placements) {
      const auto replay = fixture.run(placement);
      REQUIRE(replay.outcome == Outcome::returned);
      std::printf("replay of 64 MiB: device %.1f us, wall %.2f ms\n",
                  static_cast<double>(replay.elapsed.count()) / 1e3,
                  static_cast<double>(replay.wall.count()) / 1e6);
    }
  }
  for (const bool spare : {false, true}) {
    CudaOptions options;
    options.spare = spare;
    const auto fresh = CudaExecutor::start(options);
    const OneCall call(count);
    for (int i = 0; i < 4; ++i) {
      begin = Clock::now();
      const auto session = fresh->open({plan_of("scale")}, call.arena());
      const double open_ms = ms(Clock::now() - begin);
      for (int repeat = 0; repeat < 20; ++repeat) {
        call.prepare(Placement::low);
        REQUIRE(session->replay(0, Placement::low).outcome == Outcome::returned);
      }
      std::printf("fresh%s: open %.1f ms, with 20 replays %.1f ms\n", spare ? " with a spare" : "",
                  open_ms, ms(Clock::now() - begin));
    }
  }
  std::fflush(stdout);
}

TEST_CASE("kernels compute at both placements on a GPU", "[gpu]") {
  require_doubled(plan_of("scale"));
  SECTION("with a fill, a copy and scratch") {
    auto plan = builder();
    const auto scratch = plan.scratch(bytes);
    plan.launch(CopyLaunch{{scratch, 0}, {0, 0}, bytes});
    plan.launch(MemsetLaunch{{1, 0}, 0, 2, bytes / 2});
    auto& launch = plan.kernel("scale", 64);
    launch.pointers[0].target.buffer = scratch;
    require_doubled(plan.plan());
  }
  SECTION("with an odd number of elements") {
    auto plan = builder(1021);
    plan.kernel("scale");
    require_doubled(plan.plan(), 1021);
  }
  SECTION("with all of a block's shared memory") {
    const auto most = static_cast<std::uint32_t>(shared_executor().device().shared_optin_bytes);
    auto plan = builder(4096);
    plan.kernel("through_shared", 1, 1024).shared_bytes = most;
    plan.number(most / 4);
    require_doubled(plan.plan(), 4096);
  }
  SECTION("with a cooperative launch") {
    auto plan = builder();
    const auto counter = plan.state(std::vector<std::byte>(4));
    plan.kernel("meet", 132).cooperative = true;
    plan.pointer(counter);
    require_doubled(plan.plan());
  }
  SECTION("with a tensor map") {
    auto plan = builder();
    plan.kernel("copy_by_map", (count + 255) / 256, 256);
    const auto kernels = kernel_resources(cubin());
    const auto kernel = std::find_if(kernels.begin(), kernels.end(),
                                     [](const auto& one) { return one.function == "copy_by_map"; });
    REQUIRE(kernel != kernels.end());
    auto& map = plan.tensor_map(0, kernel->parameters.at(3).offset);
    map.data_type = 7;
    map.sizes = {count};
    map.box = {256};
    map.element_strides = {1};
    require_doubled(plan.plan());
  }
  SECTION("with prints that go nowhere") {
    auto plan = builder(1024);
    plan.kernel("print");
    require_doubled(plan.plan(), 1024);
  }
}

TEST_CASE("clusters are launched as the plan says on a GPU", "[gpu]") {
  auto plan = builder(8 * 256);
  plan.kernel("rank_in_cluster", 8).cluster = {4, 1, 1};
  const Fixture fixture(plan.plan(), 8 * 256);
  REQUIRE(fixture.run().outcome == Outcome::returned);
  const auto values = fixture.call.output(Placement::low);
  for (std::size_t block = 0; block < 8; ++block) {
    CHECK(values[block * 256] == static_cast<float>(block % 4));
  }
}

TEST_CASE("one byte outside a buffer is found or stopped on a GPU", "[gpu]") {
  constexpr std::int64_t pages = (bytes + 4095) / 4096 * 4096;
  struct Touch {
    const char* kernel;
    std::int64_t offset;
    Placement placement;
    const char* words;
  };
  for (const auto& one :
       {Touch{"poke", -1, Placement::low, "700"}, Touch{"poke", bytes, Placement::high, "700"},
        Touch{"peek", -1, Placement::low, "700"}, Touch{"peek", bytes, Placement::high, "700"},
        Touch{"poke", pages, Placement::low, "wrote out of bounds: 1 bytes past"},
        Touch{"poke", bytes - pages - 1, Placement::high, "wrote out of bounds: 1 bytes before"}}) {
    INFO(one.kernel << " at " << one.offset);
    const Fixture fixture(touch(one.kernel, one.offset));
    const auto replay = fixture.run(one.placement);
    CHECK(replay.outcome == Outcome::fault);
    CHECK_THAT(replay.evidence, ContainsSubstring(one.words));
  }
  const Fixture fixture(touch("poke", bytes));
  REQUIRE(fixture.run(Placement::low).outcome == Outcome::returned);
  CHECK(fixture.call.arena()->slack_damage(0, Placement::low, OneCall::seed) ==
        "wrote 1 bytes past the end of output 'out'");
}

TEST_CASE("how kernels end on a GPU", "[gpu]") {
  struct End {
    const char* kernel;
    Outcome outcome;
    const char* words;
  };
  for (const auto& one :
       {End{"write_input", Outcome::fault, "700"}, End{"trap", Outcome::fault, "launch 0 (trap)"},
        End{"fail_assertion", Outcome::fault, "710"}, End{"misaligned", Outcome::fault, "716"},
        End{"hang", Outcome::timeout, "still running after 1 s"}}) {
    INFO(one.kernel);
    const Fixture fixture(plan_of(one.kernel));
    const auto replay = fixture.run();
    std::printf("%s: %s\n", one.kernel, replay.evidence.c_str());
    CHECK(replay.outcome == one.outcome);
    CHECK_THAT(replay.evidence, ContainsSubstring(one.words));
  }
  std::fflush(stdout);
  require_doubled(plan_of("scale"));  // Afterwards all is well again.
}

TEST_CASE("what cannot be launched is the plan's fault on a GPU", "[gpu]") {
  auto too_wide = builder();
  too_wide.kernel("scale", 1, 2048);
  const Fixture fixture(too_wide.plan());
  CHECK(fixture.run().outcome == Outcome::fault);

  auto missing = builder();
  missing.kernel("no_such_kernel");
  const OneCall call(count);
  const auto session = shared_executor().open({missing.plan()}, call.arena());
  CHECK(session->opening().outcome == Outcome::load_failed);
  const PlanBuilder junk(count, std::vector<std::byte>(4096, std::byte{7}));
  auto bad = junk;
  bad.kernel("scale");
  const auto other = shared_executor().open({bad.plan()}, call.arena());
  CHECK(other->opening().outcome == Outcome::load_failed);
  std::printf("junk module: %s\n", other->opening().evidence.c_str());
}

TEST_CASE("state is restored before every replay on a GPU", "[gpu]") {
  auto plan = builder();
  const auto state = plan.state(std::vector<std::byte>(16));
  plan.kernel("count");
  plan.pointer(state);
  const Fixture fixture(plan.plan());
  for (const auto placement : {Placement::low, Placement::low, Placement::high}) {
    REQUIRE(fixture.run(placement).outcome == Outcome::returned);
    CHECK(fixture.call.output(placement)[0] == 1.0F);
  }
}

TEST_CASE("blocks that do not wait for each other are found out at the high end on a GPU",
          "[gpu]") {
  constexpr std::uint32_t grid = 64;
  constexpr std::uint64_t list = grid * sizeof(std::uint32_t);
  auto plan = builder();
  const auto ended = plan.scratch(2 * list);
  plan.launch(MemsetLaunch{{ended, 0}, 0, 4, 2 * grid});
  plan.kernel("hasty", grid);
  plan.pointer(ended);
  plan.launch(CopyLaunch{{1, 0}, {ended, list}, list});
  const Fixture fixture(plan.plan());
  for (const auto placement : placements) {
    constexpr int runs = 40;
    int missed = 0;
    double microseconds = 0;
    for (int run = 0; run < runs; ++run) {
      const auto replay = fixture.run(placement);
      INFO(replay.evidence);
      REQUIRE(replay.outcome == Outcome::returned);
      REQUIRE(replay.hindered == (placement == Placement::high));
      microseconds += static_cast<double>(replay.launches.at(1).count()) / 1e3 / runs;
      const auto out = fixture.call.output(placement);
      std::uint32_t seen[grid];
      std::memcpy(seen, out.data(), list);
      missed += std::any_of(seen, seen + grid, [](auto one) { return one == 0; });
    }
    std::printf("blocks that do not wait, %s: missed in %d of %d replays of %.1f us\n",
                placement == Placement::high ? "hindered" : "alone", missed, runs, microseconds);
    std::fflush(stdout);
    CHECK((missed > 0) == (placement == Placement::high));
  }
}

TEST_CASE("variables of a module are what they were before every replay on a GPU", "[gpu]") {
  // Where a variable is managed, or the driver does not copy a section as a whole, the module is
  // loaded anew; otherwise copies restore it.
  const std::string flags = GENERATE("", "-DOUROBOROS_SEVERAL", "-DOUROBOROS_MANAGED");
  INFO(flags);
  const auto memory = module_memory(cubin(flags));
  CHECK(std::all_of(memory.globals.begin(), memory.globals.end(), [&](const auto& one) {
          return one.symbols.empty() == false;
        }) == (flags != "-DOUROBOROS_MANAGED"));
  constexpr std::int64_t written = 1001;
  PlanBuilder plan(written, cubin(flags));
  plan.kernel("remember", 1);
  const auto as_new = [](const OneCall& call, Placement placement) {
    const auto found = call.output(placement);
    return found[0] == 41 &&
           std::all_of(found.begin() + 1, found.end(), [](float one) { return one == 1; });
  };
  const OneCall call(written);
  {
    const auto session = shared_executor().open({plan.plan()}, call.arena());
    INFO(session->opening().evidence);
    REQUIRE(session->opening().outcome == Outcome::returned);
    for (const auto placement : {Placement::low, Placement::low, Placement::high}) {
      call.prepare(placement);
      const auto replay = session->replay(0, placement);
      INFO(replay.evidence);
      REQUIRE(replay.outcome == Outcome::returned);
      CHECK(as_new(call, placement));
      std::printf("module with variables %s: replay %.2f ms\n", flags.c_str(),
                  static_cast<double>(replay.wall.count()) / 1e6);
    }
  }
  const auto race = shared_executor().open_race({plan.plan(), plan.plan()}, call.arena());
  REQUIRE(race->opening().outcome == Outcome::returned);
  call.prepare(Placement::low);
  race->upload();
  const auto begin = std::chrono::steady_clock::now();
  const auto block = race->run_block({0, 1, 1, 0});
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
  std::printf("module with variables %s: four samples in %.2f ms\n", flags.c_str(), spent.count());
  std::fflush(stdout);
  INFO(block.replay.evidence);
  REQUIRE(block.replay.outcome == Outcome::returned);
  for (const auto& sample : block.samples) {
    CHECK(sample.same_as_first);
  }
  for (const std::size_t arm : {0, 1}) {
    race->download(arm);
    CHECK(as_new(call, Placement::low));
  }
}

TEST_CASE("the device's heap is refused by what this toolkit's cubins say", "[gpu]") {
  CHECK(module_memory(cubin("-DOUROBOROS_HEAP")).heap);
  CHECK_FALSE(module_memory(cubin()).heap);
}

TEST_CASE("nothing in shared memory outlives a timed run on a GPU", "[gpu]") {
  const auto most = static_cast<std::uint32_t>(shared_executor().device().shared_optin_bytes);
  const auto plan = [&](const char* function, std::uint32_t size) {
    auto one = builder();
    one.kernel(function, 132, 1024).shared_bytes = size;
    one.number(size / 4);
    return one.plan();
  };
  const OneCall call(count);
  const auto race = shared_executor().open_race(
      {plan("write_shared", most), plan("read_shared", most - 1024)}, call.arena());
  REQUIRE(race->opening().outcome == Outcome::returned);
  call.prepare(Placement::low);
  race->upload();
  REQUIRE(race->run_block({0, 1, 0, 1}).replay.outcome == Outcome::returned);
  race->download(1);
  const auto found = call.output(Placement::low);
  CHECK(std::all_of(found.begin(), found.begin() + 132, [](float one) { return one == 0; }));
}

TEST_CASE("nothing in shared memory outlives a session on a GPU", "[gpu]") {
  const auto most = static_cast<std::uint32_t>(shared_executor().device().shared_optin_bytes);
  const auto plan = [&](const char* function, std::uint32_t size) {
    auto one = builder();
    one.kernel(function, 132, 1024).shared_bytes = size;
    one.number(size / 4);
    return one.plan();
  };
  {
    const Fixture writer(plan("write_shared", most));
    REQUIRE(writer.run().outcome == Outcome::returned);
  }
  const Fixture reader(plan("read_shared", most - 1024));
  REQUIRE(reader.run().outcome == Outcome::returned);
  const auto found = reader.call.output(Placement::low);
  CHECK(std::all_of(found.begin(), found.begin() + 132, [](float one) { return one == 0; }));
}

TEST_CASE("shared memory that no launch wrote holds poison on a GPU", "[gpu]") {
  auto plan = builder();
  constexpr std::uint32_t held = 8192;
  plan.kernel("unwritten_shared", 1, 1024).shared_bytes = held * sizeof(float);
  plan.number(held);
  const Fixture fixture(plan.plan());
  std::set<std::uint32_t> words[2];
  for (int run = 0; run < 12; ++run) {
    for (const auto placement : placements) {
      REQUIRE(fixture.run(placement).outcome == Outcome::returned);
      auto found = fixture.call.output(placement);
      found.resize(held);
      // At the high end, what is beside the launch has used some of it.
      CHECK((placement == Placement::high ||
             std::all_of(found.begin(), found.end(), [](float one) { return std::isnan(one); })));
      words[placement == Placement::high].insert(std::bit_cast<std::uint32_t>(found.back()));
    }
  }
  CHECK(words[0].size() > 1);
  CHECK(words[1].size() > 1);
}

TEST_CASE("a race measures what it should on a GPU", "[gpu]") {
  const auto work = [](std::int64_t elements, std::uint32_t passes) {
    auto plan = builder(elements);
    plan.kernel("work", 1056);
    plan.number(passes);
    return plan.plan();
  };
  for (const std::int64_t elements : {count, std::int64_t{4} << 20, std::int64_t{16} << 20}) {
    const OneCall call(elements);
    const auto race =
        shared_executor().open_race({work(elements, 1), work(elements, 1)}, call.arena());
    REQUIRE(race->opening().outcome == Outcome::returned);
    const auto begin = std::chrono::steady_clock::now();
    // A few microseconds are noisier: more blocks, for the same interval.
    const auto same = ratio(*race, call, elements == count ? 512 : 64);
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - begin;
    std::printf("A/A, %.1f MB each way: %.2f us, ratio %.5f +- %.5f, starved %.1f %%, %.0f ms\n",
                static_cast<double>(elements) * 4e-6, same.first_us, same.value, same.half_width,
                100 * same.starved, spent.count());
    CHECK(std::abs(same.value - 1) < 0.01);
    race->download(0);
    CHECK(call.doubled(Placement::low));
    if (elements == count) {
      const auto measured = calibration(shared_executor(), true);
      std::printf("calibration: %s\n", measured.to_json().c_str());
      CHECK(measured.launch_us.at("stream").estimate < 20);
      CHECK(measured.launch_us.at("gate").estimate < 20);
    }
  }
  const OneCall call(1 << 24);
  const auto race = shared_executor().open_race({work(1 << 24, 4), work(1 << 24, 8)}, call.arena());
  const auto twice = ratio(*race, call, 32);
  std::printf("twice the work: %.2f us, ratio %.4f +- %.4f, starved %.1f %%\n", twice.first_us,
              twice.value, twice.half_width, 100 * twice.starved);
  CHECK(twice.value == Approx(2).epsilon(0.1));
  std::fflush(stdout);
}

TEST_CASE("a race of many launches, and of arms that misbehave, on a GPU", "[gpu]") {
  auto many = builder();
  for (int i = 0; i < 40; ++i) {
    many.kernel("scale", 64);
  }
  const OneCall call(count);
  {
    const auto race = shared_executor().open_race({many.plan(), plan_of("unstable")}, call.arena());
    call.prepare(Placement::low);
    race->upload();
    for (int i = 0; i < 5; ++i) {
      race->run_block({0, 0, 0, 0});  // Finds how long a flush must be.
    }
    const auto block = race->run_block({0, 1, 0, 1});
    REQUIRE(block.replay.outcome == Outcome::returned);
    std::printf("40 launches: %.1f us, starved %d\n", block.samples[2].latency_us,
                block.samples[2].starved);
    CHECK_FALSE(block.samples[2].starved);
    CHECK(block.samples[2].same_as_first);
    CHECK_FALSE(block.samples[3].same_as_first);
  }
  for (const char* kernel : {"trap", "hang"}) {
    const auto race =
        shared_executor().open_race({plan_of("scale"), plan_of(kernel)}, call.arena());
    call.prepare(Placement::low);
    race->upload();
    const auto block = race->run_block({0, 1, 0});
    CHECK(block.arm == 1);
    CHECK(block.replay.outcome ==
          (std::string(kernel) == "trap" ? Outcome::fault : Outcome::timeout));
    std::printf("%s in a race: %s\n", kernel, block.replay.evidence.c_str());
  }
  std::fflush(stdout);
}

TEST_CASE("a GPU that another program fills is nobody's verdict on a GPU", "[gpu]") {
  constexpr std::int64_t large = 64 << 20;  // 256 MiB: more than any executor keeps as a spare.
  CudaOptions options;
  options.spare = false;
  const auto executor = CudaExecutor::start(options);
  const OneCall call(large);
  auto plan = builder(large);
  plan.kernel("scale", 1056);
  const auto replay = [&] {
    const auto session = executor->open({plan.plan()}, call.arena());
    INFO(session->opening().evidence);
    CHECK(session->opening().outcome == Outcome::returned);
    call.prepare(Placement::low);
    return session->replay(0, Placement::low);
  };
  const auto error_of = [](const auto& work) -> std::optional<ErrorCode> {
    try {
      work();
    } catch (const Error& error) {
      std::printf("a full GPU: %s\n", error.what());
      return error.code();
    }
    return std::nullopt;
  };
  {
    const Filler filler;
    REQUIRE(filler.full());
    // The process that has its context already. It is lost, and leaves its memory.
    CHECK(error_of([&] { static_cast<void>(replay()); }) == ErrorCode::out_of_memory);
  }
  {
    const Filler filler;
    REQUIRE(filler.full());
    // Processes that cannot get a context.
    CHECK(error_of([&] { static_cast<void>(CudaExecutor::start(options)); }) ==
          ErrorCode::out_of_memory);
    CHECK(error_of([&] {
            static_cast<void>(executor->open_race({plan.plan(), plan.plan()}, call.arena()));
          }) == ErrorCode::out_of_memory);
  }
  CHECK(replay().outcome == Outcome::returned);
  CHECK(call.doubled(Placement::low));
  std::fflush(stdout);
}
