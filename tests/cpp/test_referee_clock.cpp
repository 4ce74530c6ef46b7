// Comparing launch plans: blocks, estimators, guards and records, on a driver whose time is
// counted.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "doubling_plans.hpp"
#include "fake_nvml.hpp"
#include "ouroboros/plan.hpp"
#include "ouroboros/referee.hpp"
#include "ouroboros/trace.hpp"
#include "referee/device/contender.hpp"
#include "referee/device/device.hpp"
#include "referee/rival.hpp"
#include "referee/stages.hpp"

using namespace ouroboros;
using ouroboros_test::doubling;
using ouroboros_test::FakeNvml;

namespace {

/// Calibrations of the fake GPU are kept in a folder of this test's.
class CacheFolder {
 public:
  explicit CacheFolder(const char* driver = OUROBOROS_GOOD_FAKE_CUDA) {
    REQUIRE(mkdtemp(folder_.data()) != nullptr);
    setenv("OUROBOROS_CACHE", folder_.c_str(), 1);
    setenv("OUROBOROS_LIBCUDA", driver, 1);
  }
  ~CacheFolder() {
    unsetenv("OUROBOROS_CACHE");
    std::filesystem::remove_all(folder_);
  }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;

  [[nodiscard]] std::filesystem::path path() const { return folder_; }

 private:
  std::string folder_ = "/tmp/ouroboros-test-XXXXXX";
};

std::vector<timing::Block> blocks_in(const std::filesystem::path& trace) {
  std::ifstream file(trace, std::ios::binary);
  return timing::trace_from_json(std::string(std::istreambuf_iterator<char>(file), {}));
}

/// Two runs of the gate, however slow this machine is.
Options through_gate() {
  Options options;
  options.until = Stage::gate;
  options.gate.runs = 2;
  options.timing.budget_seconds = 600;
  return options;
}

/// How the fake driver's kernel behaves: see scale_in_a_manner there.
enum class Manner : std::uint32_t {
  honest,
  lazy,
  straggle,
  trap,
  quick,
  wobble,
  crowded,
  jolted,
  fleeting,
  uneven,
  keep,
  moody,
  rewound = 14,
  tiring,
  outrunning
};

/// Plans with so many launches, each of one microsecond and `grid` thousandths of one.
Contender plans(const std::string& name, Manner manner, int launches, std::uint32_t grid) {
  return {name, [=](const std::vector<PlanBuffer>& signature) {
            LaunchPlan plan;
            plan.origin = PlanOrigin::live_trace;
            plan.language = "triton";
            plan.target = "sm_90";
            plan.buffers = signature;
            plan.images = {ouroboros_test::image("cuda13_sm_90.cubin")};
            plan.modules = {{ModuleOrigin::candidate, 0}};
            KernelLaunch launch;
            launch.function = "scale";
            launch.grid = {grid, 1, 1};
            launch.pointers = {{0, {0, 0}}, {8, {1, 0}}};
            launch.fields = {{0, 8}, {8, 8}, {16, 4}, {20, 4}};
            launch.parameters.resize(24);
            const auto elements = static_cast<std::uint32_t>(signature.at(0).bytes / 4);
            std::memcpy(launch.parameters.data() + 16, &elements, sizeof elements);
            std::memcpy(launch.parameters.data() + 20, &manner, sizeof manner);
            plan.launches.assign(static_cast<std::size_t>(launches), launch);
            return plan;
          }};
}

Verdict compared(const Contender& a, const Contender& b, Options options = {}) {
  // However busy the machine is, blocks are what is counted.
  options.timing.budget_seconds = 600;
  options.timing.decide_gpu_ms = 1e9;
  return Referee(options).compare(doubling(), a, b);
}

bool has_flag(const Verdict& verdict, const std::string& flag) {
  const auto& flags = verdict.timing.cells.at(0).flags;
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

}  // namespace

TEST_CASE("plans are compared cell by cell", "[referee]") {
  const CacheFolder folder;
  const auto verdict =
      compared(plans("short", Manner::honest, 1, 1000), plans("long", Manner::honest, 2, 1000));
  INFO(verdict.to_json(1));
  REQUIRE(verdict.status == Status::ok);
  CHECK(verdict.candidate == "short");
  CHECK(verdict.provenance.compared_with == "long");
  CHECK_FALSE(verdict.correctness.ran);
  CHECK(verdict.timing.clock == "device_events");
  REQUIRE(verdict.timing.calibration.has_value());
  CHECK(verdict.timing.calibration->device == "Fake GPU");
  REQUIRE(verdict.timing.gpu_end.has_value());
  const auto& cell = verdict.timing.cells.at(0);
  // Two microseconds: chains of calls. The gap between two, one microsecond, is as long as what the
  // kernel does: it stays.
  CHECK(cell.estimator == "chain");
  CHECK(has_flag(verdict, "launch_bound"));
  CHECK(cell.submission == "gate");
  CHECK(cell.latency_us.estimate == Approx(2.0).epsilon(1e-3));
  CHECK(cell.bytes_min == 800);
  CHECK(cell.floor_us > 0);
  CHECK(cell.clock_mhz == Approx(1500).epsilon(0.01));
  CHECK(cell.blocks_void == 0);
  CHECK(cell.samples_total > 2 * 16);
  CHECK(cell.samples_checked >= 2 * 2);  // Each arm twice in any case; others by lot.
  const auto& baseline = cell.baselines.at(0);
  CHECK(baseline.name == "long");
  CHECK(baseline.decision == "faster");
  CHECK(baseline.speedup.estimate == Approx(2.0).epsilon(1e-3));
  CHECK(baseline.blocks == 16);
  CHECK(baseline.block_log_ratios.size() == 16);
  CHECK(baseline.memory.estimate == Approx(0).margin(1e-3));
}

TEST_CASE("the cost of a launch is subtracted from long kernels", "[referee]") {
  const CacheFolder folder;
  const auto verdict =
      compared(plans("a", Manner::honest, 1, 99'000), plans("b", Manner::honest, 1, 199'000));
  INFO(verdict.to_json(1));
  REQUIRE(verdict.status == Status::ok);
  const auto& cell = verdict.timing.cells.at(0);
  CHECK(cell.estimator == "bracket");
  CHECK(cell.submission == "stream");
  CHECK(cell.handover_us == Approx(1.001).epsilon(1e-3));
  CHECK(cell.bracket_us.estimate == Approx(100.0).epsilon(1e-3));
  CHECK(cell.latency_us.estimate == Approx(100.0 - 1.001).epsilon(1e-3));
  const auto& baseline = cell.baselines.at(0);
  CHECK(baseline.speedup_raw.estimate == Approx(2.0).epsilon(1e-3));
  CHECK(baseline.speedup.estimate == Approx((200 - 1.001) / (100 - 1.001)).epsilon(1e-4));
}

TEST_CASE("the gap between two calls is subtracted from chains of them", "[referee]") {
  const CacheFolder folder;
  for (const auto mode : {timing::Mode::decide, timing::Mode::report}) {
    Options options;
    options.mode = mode;
    const auto verdict =
        compared(plans("a", Manner::honest, 1, 3000), plans("b", Manner::honest, 2, 3000), options);
    INFO(verdict.to_json(1));
    REQUIRE(verdict.status == Status::ok);
    CHECK_FALSE(has_flag(verdict, "launch_bound"));
    const auto& cell = verdict.timing.cells.at(0);
    CHECK(cell.estimator == "chain");
    // Of a kernel of two blocks: what a launch takes before it begins.
    CHECK(cell.handover_us == Approx(1.002).epsilon(1e-3));
    CHECK(cell.latency_us.estimate == Approx(4 - 1.002).epsilon(1e-3));
    const auto& baseline = cell.baselines.at(0);
    // Between its own two launches there is such a gap as well: that is its work.
    CHECK(baseline.latency_us.estimate == Approx(8 - 1.002).epsilon(1e-3));
    CHECK(baseline.speedup.estimate == Approx((8 - 1.002) / (4 - 1.002)).epsilon(1e-3));
    CHECK(baseline.speedup_raw.estimate == Approx(2.0).epsilon(1e-3));
  }
}

TEST_CASE("what is taken off is what launches cost while blocks are timed", "[referee]") {
  const CacheFolder folder;
  Options options;
  options.mode = timing::Mode::report;
  options.timing.looks = {64};  // So that it costs more only when the method is long decided.
  const auto verdict = compared(plans("a", Manner::tiring, 1, 99'000),
                                plans("b", Manner::tiring, 1, 199'000), options);
  INFO(verdict.to_json(1));
  REQUIRE(verdict.status == Status::ok);
  const auto& cell = verdict.timing.cells.at(0);
  CHECK(cell.handover_us > 1.1);
  CHECK(cell.latency_us.estimate == Approx(100.0 - 1.001).epsilon(1e-4));
  CHECK(cell.baselines.at(0).speedup.estimate ==
        Approx((200 - 1.001) / (100 - 1.001)).epsilon(1e-4));
}

TEST_CASE("warm-up lasts until launches were measured", "[referee]") {
  const CacheFolder folder;
  for (const unsigned grid : {99'000U, 3000U}) {
    const auto verdict =
        compared(plans("a", Manner::outrunning, 1, grid), plans("b", Manner::honest, 2, grid));
    INFO(verdict.to_json(1));
    REQUIRE(verdict.status == Status::ok);
    CHECK(verdict.timing.cells.at(0).handover_us == Approx(1.002).epsilon(2e-3));
  }
}

TEST_CASE("a chain of less than its gaps does not count", "[referee]") {
  const CacheFolder folder;
  const auto verdict =
      compared(plans("a", Manner::rewound, 1, 3000), plans("b", Manner::honest, 2, 3000));
  INFO(verdict.to_json(1));
  REQUIRE(verdict.status == Status::ok);
  const auto& cell = verdict.timing.cells.at(0);
  CHECK(cell.blocks_void_by.at("starved") == 1);
  CHECK(cell.latency_us.estimate == Approx(4 - 1.002).epsilon(1e-3));
}

TEST_CASE("one look is all that a screen takes", "[referee]") {
  const CacheFolder folder;
  const auto same = plans("same", Manner::honest, 1, 99'000);
  Options options;
  options.mode = timing::Mode::screen;
  const auto verdict = compared(same, same, options);
  INFO(verdict.to_json(1));
  CHECK(verdict.timing.mode == "screen");
  CHECK(verdict.timing.cells.at(0).baselines.at(0).blocks == 16);
  CHECK(verdict.timing.cells.at(0).baselines.at(0).decision == "same");
}

TEST_CASE("a near-tie may not cost decide more than its share of the GPU", "[referee]") {
  const CacheFolder folder;
  const auto blocks = [](timing::Mode mode, double gpu_ms) {
    Options options;
    options.mode = mode;
    options.timing.looks = {16, 32};
    options.timing.minimum_effect = 0;
    options.timing.alpha = 1e-6;  // At 0.05 one first look in forty takes chance for an effect.
    options.timing.half_width = 1e-9;
    options.timing.budget_seconds = 600;
    options.timing.decide_gpu_ms = gpu_ms;
    const auto arm = plans("arm", Manner::uneven, 1, 99'000);
    const auto verdict = Referee(options).compare(doubling(), arm, arm);
    INFO(verdict.to_json(1));
    REQUIRE(verdict.status == Status::ok);
    return verdict.timing.cells.at(0).baselines.at(0).blocks;
  };
  CHECK(blocks(timing::Mode::decide, 0) == 16);  // The first look is always taken.
  CHECK(blocks(timing::Mode::decide, 1e9) == 32);
  CHECK(blocks(timing::Mode::report, 0) == 32);
}

TEST_CASE("a baseline that is decided is left out while others are not", "[referee]") {
  const CacheFolder folder;
  Options options;
  options.timing.budget_seconds = 600;
  options.timing.decide_gpu_ms = 1e9;
  options.timing.looks = {16, 64};
  options.timing.minimum_effect = 0;  // No tie is seen, however little noise there is,
  options.timing.alpha = 1e-3;        // and the first look hardly ever takes chance for an effect.
  options.traces = folder.path() / "traces";
  auto problem = doubling();
  for (const auto& [name, launches] : {std::pair{"far", 2}, std::pair{"near", 1}}) {
    problem.baselines.push_back(
        referee::rival(problem, plans(name, Manner::uneven, launches, 66'000), options));
  }
  problem.policies.library_kernels = LibraryKernels::allow;
  Compiled compiled;
  compiled.candidate.name = "candidate";
  compiled.candidate.language = referee::device::plan_language;
  compiled.plans = referee::device::source_of(
      referee::rival(problem, plans("candidate", Manner::uneven, 1, 66'000), options));
  compiled.record.entries = {"run_float32"};
  const auto outcome = referee::time(problem, compiled, 7, options);
  REQUIRE_FALSE(outcome.failure.has_value());
  const auto& cell = outcome.record.cells.at(0);
  const auto& far = cell.baselines.at(0);
  const auto& near = cell.baselines.at(1);
  CHECK(far.decision == "faster");
  CHECK(far.blocks == 16);
  CHECK(far.block_log_ratios.size() == 16);
  CHECK(near.blocks == 64);
  CHECK(near.speedup.estimate == Approx(1).margin(0.02));
  const auto blocks = blocks_in(std::filesystem::directory_iterator(options.traces)->path());
  REQUIRE(blocks.size() == static_cast<std::size_t>(near.blocks + cell.blocks_void));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    CHECK(blocks[i].samples.size() == (i < 16 ? 6 : 4));
  }
}

TEST_CASE("work that is left out at the second meeting is found", "[referee]") {
  const CacheFolder folder;
  const auto verdict =
      compared(plans("lazy", Manner::lazy, 1, 1000), plans("honest", Manner::honest, 1, 1000));
  INFO(verdict.to_json(1));
  CHECK(verdict.status == Status::rejected);
  CHECK(verdict.findings.at(0).kind == "timed_output_wrong");
}

TEST_CASE("who is quicker at the second meeting remembers", "[referee]") {
  const CacheFolder folder;
  Options options;
  options.seed = 1;  // Of the orders: by one in a hundred too few blocks have the same arm inside.
  const auto verdict = compared(plans("quick", Manner::quick, 1, 99'000),
                                plans("b", Manner::honest, 1, 99'000), options);
  INFO(verdict.to_json(1));
  CHECK(verdict.status == Status::rejected);
  REQUIRE(verdict.findings.size() == 1);
  CHECK(verdict.findings[0].kind == "remembers_inputs");
  CHECK(verdict.findings[0].severity == "cheat");
  CHECK_THAT(verdict.findings[0].evidence, ContainsSubstring("a second time"));
  // ln(80.2 / 100) of the second meeting, launch cost subtracted.
  CHECK(verdict.timing.cells.at(0).baselines.at(0).memory.estimate == Approx(-0.222).margin(2e-3));
}

TEST_CASE("what a kernel asks the cache to keep is not there for the next run", "[referee]") {
  const CacheFolder folder;
  const auto verdict =
      compared(plans("a", Manner::keep, 1, 99'000), plans("b", Manner::honest, 1, 99'000));
  INFO(verdict.to_json(1));
  REQUIRE(verdict.status == Status::ok);
  const auto& baseline = verdict.timing.cells.at(0).baselines.at(0);
  CHECK(baseline.speedup.estimate == Approx(1).margin(1e-3));
  CHECK(baseline.memory.estimate == Approx(0).margin(1e-3));
}

TEST_CASE("a memory that is lost to the next launch pays nothing", "[referee]") {
  const CacheFolder folder;
  auto options = through_gate();
  options.seed = 1;  // Of the orders: by some, chance hides it.
  const auto verdict =
      Referee(options).compare(doubling(), plans("fleeting", Manner::fleeting, 1, 99'000),
                               plans("b", Manner::honest, 1, 109'000));
  INFO(verdict.to_json(1));
  REQUIRE(verdict.status == Status::ok);
  const auto& cell = verdict.timing.cells.at(0);
  const auto& baseline = cell.baselines.at(0);
  CHECK(baseline.memory.estimate < -0.1);
  CHECK(baseline.speedup.estimate == Approx(1.1).epsilon(2e-3));
  CHECK(cell.latency_us.estimate == Approx(99.0).epsilon(2e-3));
  CHECK(std::ranges::count(cell.flags, "first_meetings:b") == 1);
  REQUIRE(verdict.gate.ran);
  CHECK(verdict.gate.speedup.estimate == Approx(1.1).epsilon(5e-3));
}

TEST_CASE("launches that are slow to submit cost blocks, and no verdict", "[referee]") {
  const CacheFolder folder;
  const auto verdict = compared(plans("straggler", Manner::straggle, 1, 50'000),
                                plans("b", Manner::honest, 2, 50'000));
  INFO(verdict.to_json(1));
  REQUIRE(verdict.status == Status::ok);
  CHECK(verdict.timing.cells.at(0).submission == "gate");
  CHECK(verdict.timing.cells.at(0).baselines.at(0).decision == "faster");
}

TEST_CASE("what cannot be replayed is no rival, and what is none is said", "[referee]") {
  const CacheFolder folder;
  const auto verdict =
      compared(plans("a", Manner::honest, 1, 1000), plans("b", Manner::trap, 1, 1000));
  INFO(verdict.to_json(1));
  CHECK(verdict.status == Status::ok);
  CHECK(verdict.timing.cells.at(0).baselines.at(0).status == "unavailable");
  const Referee referee;
  const Contender host{"host", Candidate{"int x;", "host", "cpp"}};
  CHECK_THROWS_WITH(
      static_cast<void>(referee.compare(doubling(), plans("a", Manner::honest, 1, 1000), host)),
      ContainsSubstring("'host' runs on the host and 'a' on a GPU"));
}

TEST_CASE("the gate's processes differ in where their memory lies", "[referee]") {
  const CacheFolder folder;
  auto options = through_gate();
  options.traces = folder.path() / "traces";
  const auto verdict = Referee(options).compare(doubling(), plans("a", Manner::honest, 1, 99'000),
                                                plans("b", Manner::honest, 1, 109'000));
  INFO(verdict.to_json(1));
  REQUIRE(verdict.gate.ran);
  CHECK(verdict.gate.passed);
  CHECK(verdict.gate.baseline == "b");
  CHECK(verdict.gate.speedup.estimate == Approx(110.0 / 100.0).epsilon(0.01));
  // Beyond doubt after 16 blocks: the time stage stops there, and no process of the gate does.
  CHECK(verdict.timing.cells.at(0).baselines.at(0).blocks == 16);
  std::size_t runs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(options.traces)) {
    if (!entry.path().filename().string().starts_with("gate")) continue;
    ++runs;
    CHECK(blocks_in(entry.path()).size() >= 256);
  }
  CHECK(runs == 2);
}

TEST_CASE("a process of the gate in which the machine does not hold still is replaced, once",
          "[referee]") {
  const CacheFolder folder;
  // The inputs, and so the seed, say in which processes the machine does not.
  const auto judged = [](std::uint64_t seed) {
    auto options = through_gate();
    options.seed = seed;
    // Other limits want another executor: one that has met nothing.
    options.limits.replay_seconds = 20 + static_cast<double>(seed);
    return Referee(options).compare(doubling(), plans("a", Manner::moody, 1, 99'000),
                                    plans("b", Manner::honest, 1, 109'000));
  };
  const auto in_one = judged(4);
  INFO(in_one.to_json(1));
  REQUIRE(in_one.status == Status::ok);
  CHECK(in_one.gate.passed);
  CHECK(in_one.gate.runs == 2);
  CHECK(in_one.gate.runs_void == 1);
  CHECK(in_one.gate.speedup.estimate == Approx(1.1).epsilon(0.01));

  const auto in_more = judged(5);
  INFO(in_more.to_json(1));
  CHECK(in_more.status == Status::infrastructure_error);
  CHECK_FALSE(in_more.gate.passed);
  CHECK(in_more.timing.cells.size() == 1);  // Timing had ended by then, and stands.
  CHECK(in_more.findings.at(0).kind == "unstable");
}

TEST_CASE("on a GPU that others fill there are fewer sets, and a verdict", "[referee]") {
  const CacheFolder folder(OUROBOROS_CROWDED_FAKE_CUDA);
  Options options;
  options.limits.replay_seconds = 7;  // Other limits want another executor: one with that driver.
  const auto verdict = compared(plans("short", Manner::honest, 1, 1000),
                                plans("long", Manner::honest, 2, 1000), options);
  INFO(verdict.to_json(1));
  REQUIRE(verdict.status == Status::ok);
  const auto& cell = verdict.timing.cells.at(0);
  CHECK(cell.estimator != "chain");  // Chains want sixteen sets.
  CHECK(cell.baselines.at(0).decision == "faster");
}

TEST_CASE("a GPU that does not hold still gives no verdict, and leaves its trace", "[referee]") {
  const CacheFolder folder;
  Options options;
  options.traces = folder.path() / "traces";
  const auto verdict = compared(plans("a", Manner::crowded, 1, 99'000),
                                plans("b", Manner::honest, 1, 99'000), options);
  INFO(verdict.to_json(1));
  CHECK(verdict.status == Status::infrastructure_error);
  REQUIRE(verdict.findings.size() == 1);
  CHECK(verdict.findings[0].kind == "unstable");
  CHECK_THAT(verdict.findings[0].evidence, ContainsSubstring("by their flush"));
  std::size_t traces = 0;
  for (const auto& entry : std::filesystem::directory_iterator(options.traces)) {
    traces += entry.file_size() > 1000 ? 1 : 0;
  }
  CHECK(traces == 1);
}

TEST_CASE("a GPU that does not hold still for a moment is given time", "[referee]") {
  const CacheFolder folder;
  Options options;
  // Other limits want another executor: one that is jolted anew.
  options.limits.replay_seconds = 8;
  const auto judged = [&] {
    return compared(plans("a", Manner::jolted, 1, 99'000), plans("b", Manner::honest, 2, 99'000),
                    options);
  };
  const auto verdict = judged();
  INFO(verdict.to_json(1));
  REQUIRE(verdict.status == Status::ok);
  const auto& cell = verdict.timing.cells.at(0);
  CHECK(cell.blocks_void >= 4);
  CHECK(cell.baselines.at(0).blocks >= 9 * cell.blocks_void);
  CHECK(cell.baselines.at(0).decision == "faster");
  options.limits.replay_seconds = 9;
  options.mode = timing::Mode::screen;  // Which takes one look.
  CHECK(judged().findings.at(0).kind == "unstable");
}

TEST_CASE("a hot cache is timed without chains, and too short a run is said to be", "[referee]") {
  const CacheFolder folder;
  Options options;
  options.cache = Cache::hot;
  const auto verdict =
      compared(plans("a", Manner::honest, 1, 100), plans("b", Manner::honest, 2, 100), options);
  INFO(verdict.to_json(1));
  REQUIRE(verdict.status == Status::ok);
  CHECK(verdict.timing.cache == "hot");
  CHECK(verdict.timing.cells.at(0).estimator == "raw");
  CHECK(has_flag(verdict, "launch_bound"));
}

TEST_CASE("calls with rotated addresses are timed in chains, however long they are", "[referee]") {
  const CacheFolder folder;
  Options options;
  options.cache = Cache::rotated;
  const auto verdict = compared(plans("a", Manner::honest, 1, 99'000),
                                plans("b", Manner::honest, 2, 99'000), options);
  INFO(verdict.to_json(1));
  REQUIRE(verdict.status == Status::ok);
  CHECK(verdict.timing.cache == "rotated");
  const auto& cell = verdict.timing.cells.at(0);
  CHECK(cell.estimator == "chain");
  CHECK(cell.latency_us.estimate == Approx(100 - 1.002).epsilon(1e-3));
  CHECK(cell.baselines.at(0).speedup.estimate == Approx((200 - 1.002) / (100 - 1.002)));
}

TEST_CASE("addresses cannot be rotated where there is no room for them", "[referee]") {
  const CacheFolder folder(OUROBOROS_CROWDED_FAKE_CUDA);
  Options options;
  options.cache = Cache::rotated;
  options.limits.replay_seconds = 6;  // Other limits want another executor: one with that driver.
  CHECK_THROWS_WITH(compared(plans("short", Manner::honest, 1, 1000),
                             plans("long", Manner::honest, 2, 1000), options),
                    ContainsSubstring("take 16 sets of inputs and outputs"));
}

TEST_CASE("outputs that differ from run to run are said to", "[referee]") {
  const CacheFolder folder;
  const auto verdict =
      compared(plans("a", Manner::wobble, 1, 1000), plans("b", Manner::honest, 1, 1000));
  INFO(verdict.to_json(1));
  REQUIRE(verdict.status == Status::ok);
  CHECK(has_flag(verdict, "not_deterministic"));
  CHECK_FALSE(
      has_flag(compared(plans("a", Manner::honest, 1, 1000), plans("b", Manner::wobble, 1, 1000)),
               "not_deterministic"));
}

TEST_CASE("of a baseline's configurations the fastest is timed, and its kernels are named",
          "[referee]") {
  const CacheFolder folder;
  const auto made_by = [](int launches) {
    return std::get<1>(plans("", Manner::honest, launches, 20'000).what);
  };
  auto problem = doubling();
  Baseline tuned;
  tuned.name = "tuned";
  tuned.variants = [&](const std::vector<PlanBuffer>& signature) {
    return std::vector<LaunchPlan>{made_by(5)(signature), made_by(2)(signature),
                                   made_by(4)(signature)};
  };
  problem.baselines = {tuned};
  Baseline own;
  own.plan = made_by(3);
  Compiled compiled;
  compiled.candidate.language = referee::device::plan_language;
  compiled.plans = referee::device::source_of(own);
  compiled.record.entries = {"run_float32"};
  Options options;
  options.timing.budget_seconds = 600;
  const auto timed = referee::time(problem, compiled, 7, options);
  REQUIRE(timed.record.cells.size() == 1);
  const auto& cell = timed.record.cells[0];
  const auto& baseline = cell.baselines.at(0);
  CHECK(baseline.latency_us.estimate == Approx(2 * 21.0 - 1.0).epsilon(0.001));
  CHECK(baseline.decision == "slower");
  REQUIRE(baseline.kernels.size() == 1);
  CHECK(baseline.kernels[0].function == "scale");
  CHECK(baseline.kernels[0].launches == 2);
  CHECK(baseline.kernels[0].grid == std::vector<std::int64_t>{20'000, 1, 1});
}

TEST_CASE("who is quicker than memory can deliver is said to need not all of it", "[referee]") {
  const CacheFolder folder;
  auto problem = doubling();
  problem.axes[0].maximum = 1 << 20;
  problem.timed = {{{"n", 1 << 19}}};
  Options options;
  options.timing.budget_seconds = 600;
  // Two microseconds at the fake memory's 1024 GB/s.
  const auto verdict_of = [&](std::uint32_t grid) {
    return Referee(options).compare(problem, plans("a", Manner::honest, 1, grid),
                                    plans("b", Manner::honest, 1, 5000));
  };
  const auto quick = verdict_of(100);
  INFO(quick.to_json(1));
  REQUIRE(quick.status == Status::ok);
  CHECK(has_flag(quick, "impossible_speed"));
  CHECK(std::ranges::any_of(quick.findings, [](const Finding& finding) {
    return finding.kind == "impossible_speed" && finding.severity == "note";
  }));
  CHECK_FALSE(has_flag(verdict_of(4000), "impossible_speed"));
}

TEST_CASE("a GPU that slows itself down, or is shared, is said to", "[referee]") {
  const CacheFolder folder;
  FakeNvml nvml;
  Options options;
  options.limits.replay_seconds = 8;  // Other limits want another executor: one with that NVML.
  const auto verdict_of = [&] {
    return compared(plans("a", Manner::honest, 1, 99'000), plans("b", Manner::honest, 1, 99'000),
                    options);
  };
  const auto quiet = verdict_of();
  INFO(quiet.to_json(1));
  REQUIRE(quiet.timing.gpu_end.has_value());
  CHECK(quiet.timing.gpu_end->sm_clock_mhz == 1755);
  CHECK_FALSE(has_flag(quiet, "slowdown:sw_power_cap"));
  CHECK_FALSE(has_flag(quiet, "gpu_shared"));
  constexpr int power_cap = 0x4;
  nvml.say("reasons", power_cap).say("process", 1);
  const auto slow = verdict_of();
  CHECK(has_flag(slow, "slowdown:sw_power_cap"));
  CHECK(has_flag(slow, "gpu_shared"));
  CHECK(slow.timing.gpu_end->slowdowns == std::vector<std::string>{"sw_power_cap"});
}

TEST_CASE("a gate in the company of who computes is none", "[referee]") {
  const CacheFolder folder;
  FakeNvml nvml;
  const auto judged = [&] {
    auto options = through_gate();
    options.limits.replay_seconds = 9;  // As above.
    return Referee(options).compare(doubling(), plans("a", Manner::honest, 1, 99'000),
                                    plans("b", Manner::honest, 1, 109'000));
  };
  nvml.say("process", 1).say("busy", 4);  // As a desktop.
  const auto passed = judged();
  INFO(passed.to_json(1));
  CHECK(passed.gate.passed);
  CHECK(passed.gate.runs_void == 0);
  CHECK(has_flag(passed, "gpu_shared"));
  CHECK(passed.timing.gpu_end->other_busy_percent == 4);
  nvml.say("busy", 40);
  const auto lost = judged();
  INFO(lost.to_json(1));
  CHECK(lost.status == Status::infrastructure_error);
  REQUIRE(lost.findings.size() == 1);
  CHECK(lost.findings[0].kind == "unstable");
  CHECK_THAT(lost.findings[0].evidence,
             ContainsSubstring("other processes computed on this GPU for 40 % of the time"));
}
