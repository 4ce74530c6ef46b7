// The CUDA executor's real program and client over a driver that runs on the host: what they hand
// over, what they notice, and how they end.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
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

constexpr std::int64_t count = 1000;  // 4000 bytes: 96 of slack on each page.
constexpr Placement placements[] = {Placement::low, Placement::high};

std::vector<std::byte> module() {
  const std::string text = "fake module";
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

CudaOptions options(bool reuse = false) {
  CudaOptions result;
  result.libcuda = OUROBOROS_GOOD_FAKE_CUDA;
  result.reuse = reuse;
  result.spare = false;
  return result;
}

PlanBuilder builder() { return {count, module()}; }

LaunchPlan plan_of(const std::string& function) {
  auto plan = builder();
  plan.kernel(function);
  return plan.plan();
}

/// Pokes one byte, so many bytes from the output's first.
LaunchPlan poke(std::int64_t offset) {
  auto plan = builder();
  plan.kernel("poke");
  plan.number(offset);
  return plan.plan();
}

/// One plan in an executor of its own.
struct Fixture {
  explicit Fixture(LaunchPlan plan, const CudaOptions& with = options())
      : executor(CudaExecutor::start(with)), session(executor->open({plan}, call.arena())) {}

  Replay run(Placement placement = Placement::low) const {
    call.prepare(placement);
    return session->replay(0, placement);
  }

  OneCall call{count};
  std::unique_ptr<CudaExecutor> executor;
  std::unique_ptr<Session> session;
};

}  // namespace

TEST_CASE("a probe says what devices there are, or why there is none") {
  const auto found = cuda_devices(OUROBOROS_GOOD_FAKE_CUDA);
  REQUIRE(found.devices.size() == 1);
  CHECK(found.reason.empty());
  CHECK(found.devices[0].name == "Fake GPU");
  CHECK(found.devices[0].target == "sm_90");
  CHECK(found.devices[0].uuid == "GPU-abababab-abab-abab-abab-abababababab");
  CHECK(found.devices[0].driver_version == 13000);

  const auto missing = cuda_devices("/nowhere/libcuda.so.1");
  CHECK(missing.devices.empty());
  CHECK_THAT(missing.reason, ContainsSubstring("there is no NVIDIA driver"));

  const auto old = cuda_devices(OUROBOROS_OLD_FAKE_CUDA);
  CHECK(old.devices.empty());
  CHECK_THAT(old.reason, ContainsSubstring("supports CUDA 11.4; 12.0 is needed"));
}

TEST_CASE("a driver that cannot live in the sandbox gets the file system, and that is said") {
  auto with = options();
  with.libcuda = OUROBOROS_CURIOUS_FAKE_CUDA;
  const auto executor = CudaExecutor::start(with);
  const OneCall call(count);
  const auto session = executor->open({plan_of("scale")}, call.arena());
  const auto isolation = session->isolation();
  CHECK(isolation.landlock_abi == 0);
  CHECK(isolation.level == "degraded");
  REQUIRE_FALSE(isolation.missing.empty());
  CHECK_THAT(isolation.missing.back(), ContainsSubstring("file system"));
  call.prepare(Placement::low);
  CHECK(session->replay(0, Placement::low).outcome == Outcome::returned);
}

TEST_CASE("an executor does not start without its device") {
  auto wrong = options();
  wrong.device = 3;
  CHECK_THROWS_WITH(CudaExecutor::start(wrong), ContainsSubstring("there is no CUDA device 3"));
  wrong = options();
  wrong.libcuda = "/nowhere/libcuda.so.1";
  CHECK_THROWS_AS(CudaExecutor::start(wrong), Error);
}

TEST_CASE("a plan of a fill and a kernel computes at both placements") {
  auto plan = builder();
  plan.launch(MemsetLaunch{{1, 0}, 0, 4, count});
  plan.kernel("scale");
  const Fixture fixture(plan.plan());
  REQUIRE(fixture.session->opening().outcome == Outcome::returned);
  CHECK(fixture.session->exports(0));
  CHECK(fixture.executor->device().name == "Fake GPU");
  for (const auto placement : placements) {
    const auto replay = fixture.run(placement);
    INFO(replay.evidence);
    REQUIRE(replay.outcome == Outcome::returned);
    CHECK(replay.elapsed.count() > 0);
    CHECK(replay.wall > replay.elapsed);
    CHECK(fixture.call.doubled(placement));
    CHECK_FALSE(fixture.call.arena()->slack_damage(0, placement, OneCall::seed).has_value());
  }
}

TEST_CASE("fills and copies of every width land where the plan says") {
  auto plan = builder();
  const auto scratch = plan.scratch(64);
  plan.launch(MemsetLaunch{{scratch, 0}, 0x3f, 1, 4});
  plan.launch(MemsetLaunch{{scratch, 4}, 0x3f80, 2, 2});
  plan.launch(MemsetLaunch{{scratch, 8}, 0x40000000, 4, 2});
  plan.launch(CopyLaunch{{1, 0}, {0, 0}, count * 4});
  plan.launch(CopyLaunch{{1, 8}, {scratch, 0}, 16});
  const Fixture fixture(plan.plan());
  for (const auto placement : placements) {
    REQUIRE(fixture.run(placement).outcome == Outcome::returned);
    const auto values = fixture.call.output(placement);
    CHECK(values[1] == OneCall::x(1));
    std::uint32_t bits[2];
    std::memcpy(bits, &values[2], sizeof bits);
    CHECK(bits[0] == 0x3f3f3f3f);
    CHECK(bits[1] == 0x3f803f80);
    CHECK(values[4] == 2.0F);
    CHECK(values[5] == 2.0F);
    CHECK(values[6] == OneCall::x(6));
  }
}

TEST_CASE("scratch holds no number at the low end and any at the high end") {
  auto plan = builder();
  const auto scratch = plan.scratch(count * 4);
  plan.launch(CopyLaunch{{1, 0}, {scratch, 0}, count * 4});
  const Fixture fixture(plan.plan());
  std::set<std::uint32_t> met;
  for (int time = 0; time < 40; ++time) {
    REQUIRE(fixture.run(Placement::low).outcome == Outcome::returned);
    CHECK(std::isnan(fixture.call.output(Placement::low)[count - 1]));
    REQUIRE(fixture.run(Placement::high).outcome == Outcome::returned);
    const auto values = fixture.call.output(Placement::high);
    std::uint32_t word = 0;
    std::memcpy(&word, &values[count - 1], sizeof word);
    met.insert(word);
  }
  CHECK((met.size() > 4 && met.size() <= 8));
}

TEST_CASE("launches are timed one by one, and can be left out") {
  auto plan = builder();
  plan.kernel("scale", 1000);
  plan.launch(CopyLaunch{{1, 0}, {0, 0}, 4});
  plan.kernel("skip_tail", 2000);
  const OneCall call(count);
  const auto executor = CudaExecutor::start(options());
  const auto session = executor->open({plan.plan()}, call.arena());
  const auto us = [](const Replay& replay, std::size_t launch) {
    return std::chrono::duration<double, std::micro>(replay.launches.at(launch)).count();
  };

  call.prepare(Placement::low);
  const auto whole = session->replay(0, Placement::low);
  REQUIRE(whole.outcome == Outcome::returned);
  REQUIRE(whole.launches.size() == 3);
  CHECK(us(whole, 0) == Approx(2.0).epsilon(1e-2));
  CHECK(us(whole, 2) == Approx(3.0).epsilon(1e-2));
  CHECK(whole.elapsed == whole.launches[0] + whole.launches[1] + whole.launches[2]);
  CHECK(call.doubled(Placement::low));

  call.prepare(Placement::low);
  const auto rest = session->replay_without(0, Placement::low, {0, 1});
  REQUIRE(rest.outcome == Outcome::returned);
  CHECK(us(rest, 0) == 0);
  CHECK(us(rest, 2) == Approx(3.0).epsilon(1e-2));
  // The last element is written by the launch that was left out.
  CHECK(call.output(Placement::low)[0] == 2 * OneCall::x(0));
  CHECK(call.arena()->unwritten(0, 1, Placement::low, OneCall::seed).has_value());
}

TEST_CASE("at the high end other work is beside every launch, and gone after it") {
  const Fixture fixture(plan_of(GENERATE("hasty", "dismissive")));
  const auto undisturbed = fixture.run(Placement::low);
  REQUIRE(undisturbed.outcome == Outcome::returned);
  CHECK_FALSE(undisturbed.hindered);
  CHECK(fixture.call.doubled(Placement::low));

  const auto hindered = fixture.run(Placement::high);
  REQUIRE(hindered.outcome == Outcome::returned);
  CHECK(hindered.hindered);
  CHECK_FALSE(fixture.call.doubled(Placement::high));

  REQUIRE(fixture.run(Placement::low).outcome == Outcome::returned);
  CHECK(fixture.call.doubled(Placement::low));
}

TEST_CASE("shared memory holds poison before a replay") {
  const Fixture fixture(plan_of("unwritten_shared"));
  REQUIRE(fixture.run(Placement::low).outcome == Outcome::returned);
  CHECK(std::isnan(fixture.call.output(Placement::low)[0]));
}

TEST_CASE("the sweep's checks see what a kernel did not write, and wrote beside the buffer") {
  SECTION("an element left out") {
    const Fixture fixture(plan_of("skip_tail"));
    REQUIRE(fixture.run().outcome == Outcome::returned);
    const auto unwritten = fixture.call.arena()->unwritten(0, 1, Placement::low, OneCall::seed);
    REQUIRE(unwritten.has_value());
    CHECK_THAT(*unwritten, ContainsSubstring("from element 999 on"));
  }
  SECTION("a byte in the arena's slack") {
    const Fixture fixture(poke(count * 4 + 10));
    REQUIRE(fixture.run().outcome == Outcome::returned);
    const auto damage = fixture.call.arena()->slack_damage(0, Placement::low, OneCall::seed);
    CHECK(damage == "wrote 11 bytes past the end of output 'out'");
  }
}

TEST_CASE("writes beyond the arena's pages are found by canaries or stopped by guards") {
  constexpr std::int64_t granule = 2 << 20;
  SECTION("past the pages, inside the granule") {
    const Fixture fixture(poke(4096 + 99));
    const auto replay = fixture.run();
    CHECK(replay.outcome == Outcome::fault);
    CHECK(replay.evidence ==
          "wrote out of bounds: 100 bytes past the end of the pages of output 'out'");
  }
  SECTION("before the pages, inside the granule") {
    const Fixture fixture(poke(-4096));
    const auto replay = fixture.run(Placement::high);
    CHECK(replay.outcome == Outcome::fault);
    CHECK_THAT(replay.evidence, ContainsSubstring("before the beginning of the pages"));
  }
  SECTION("past the granule") {
    const Fixture fixture(poke(granule));
    const auto replay = fixture.run();
    CHECK(replay.outcome == Outcome::fault);
    CHECK_THAT(replay.evidence, ContainsSubstring("launch 0 (poke)"));
    CHECK_THAT(replay.evidence, ContainsSubstring("700"));
  }
  SECTION("before the granule") {
    const Fixture fixture(poke(-1));
    CHECK(fixture.run(Placement::low).outcome == Outcome::fault);
  }
  SECTION("right past a scratch buffer") {
    auto plan = builder();
    const auto scratch = plan.scratch(100);
    plan.kernel("scale");
    plan.launch(MemsetLaunch{{scratch, 0}, 1, 1, 100});
    plan.launch(MemsetLaunch{{scratch, 96}, 1, 1, 4});
    const Fixture sound(plan.plan());
    CHECK(sound.run(Placement::low).outcome == Outcome::returned);
    CHECK(sound.run(Placement::high).outcome == Outcome::returned);
  }
}

TEST_CASE("a write to an input is a fault that names the launch") {
  auto plan = builder();
  plan.kernel("scale");
  plan.kernel("write_input");
  const Fixture fixture(plan.plan());
  const auto replay = fixture.run();
  CHECK(replay.outcome == Outcome::fault);
  CHECK_THAT(replay.evidence, ContainsSubstring("launch 1 (write_input)"));
  // A session is single-use: the first outcome stands.
  CHECK(fixture.run().evidence == replay.evidence);
}

TEST_CASE("a kernel that hangs ends as a timeout, and its process with it") {
  auto with = options();
  with.limits.replay_seconds = 0.2;
  const Fixture fixture(plan_of("hang"), with);
  const auto replay = fixture.run();
  CHECK(replay.outcome == Outcome::timeout);
  CHECK(replay.evidence == "launch 0 (hang) was still running after 0.2 s");
  CHECK(children("ouroboros-cuda-").empty());
}

TEST_CASE("a trap is a fault; the next session has a fresh process") {
  const auto executor = CudaExecutor::start(options(true));
  const OneCall call(count);
  for (int i = 0; i < 2; ++i) {
    const auto bad = executor->open({plan_of("trap")}, call.arena());
    call.prepare(Placement::low);
    CHECK(bad->replay(0, Placement::low).outcome == Outcome::fault);
    const auto good = executor->open({plan_of("scale")}, call.arena());
    call.prepare(Placement::low);
    CHECK(good->replay(0, Placement::low).outcome == Outcome::returned);
    CHECK(call.doubled(Placement::low));
  }
}

TEST_CASE("a module or function that cannot be loaded is the candidate's fault") {
  const std::vector<std::byte> junk(64, std::byte{1});
  PlanBuilder bad_module(count, junk);
  bad_module.kernel("scale");
  for (const auto& [plan, words] :
       {std::pair{bad_module.plan(), "a module could not be loaded"},
        std::pair{plan_of("no_such_kernel"), "no kernel 'no_such_kernel'"}}) {
    const Fixture fixture(plan);
    CHECK(fixture.session->opening().outcome == Outcome::load_failed);
    CHECK_THAT(fixture.session->opening().evidence, ContainsSubstring(words));
    CHECK_FALSE(fixture.session->exports(0));
    CHECK(fixture.run().outcome == Outcome::load_failed);
  }
}

TEST_CASE("memory that cannot be had and a process that dies are nobody's verdict") {
  SECTION("memory") {
    auto plan = builder();
    plan.scratch(std::uint64_t{4} << 30);
    plan.kernel("scale");
    const Fixture fixture(plan.plan());
    CHECK_THROWS_WITH(fixture.run(), ContainsSubstring("GPU memory cannot be had"));
  }
  SECTION("death") {
    const Fixture fixture(plan_of("crash"));
    CHECK_THROWS_WITH(fixture.run(), ContainsSubstring("died of signal 9"));
    CHECK_THROWS_WITH(fixture.run(), ContainsSubstring("open another session"));
  }
  SECTION("cancelling") {
    auto with = options();
    bool stop = false;
    with.cancelled = [&stop] { return stop; };
    const Fixture fixture(plan_of("hang"), with);
    stop = true;
    CHECK_THROWS_WITH(fixture.run(), ContainsSubstring("cancelled"));
    CHECK(children("ouroboros-cuda-").empty());
  }
}

TEST_CASE("state is restored before every replay") {
  auto plan = builder();
  const auto state = plan.state(std::vector<std::byte>(64, std::byte{1}));
  plan.kernel("count");
  plan.pointer(state);
  const Fixture fixture(plan.plan());
  for (const auto placement : {Placement::low, Placement::low, Placement::high}) {
    REQUIRE(fixture.run(placement).outcome == Outcome::returned);
    CHECK(fixture.call.output(placement)[0] == static_cast<float>(0x01010102));
  }
}

TEST_CASE("variables of a module are what they were before every replay and timed run") {
  // The driver finds one variable, and with it the section; or finds none; or nobody can tell; or
  // the driver does not copy the section as a whole.
  auto with = options(true);
  auto image = read_bytes(std::string(OUROBOROS_SOURCE_DIR) + "/tests/data/cubin/globals.cubin");
  SECTION("by copies") {}
  SECTION("by loading the module anew") {
    const std::string name = "counter";
    const auto found =
        std::search(image.begin(), image.end(), name.begin(), name.end(),
                    [](std::byte one, char other) { return one == static_cast<std::byte>(other); });
    REQUIRE(found != image.end());
    *found = std::byte{'k'};
  }
  SECTION("by loading an unreadable module anew") { image = module(); }
  SECTION("by loading a module anew whose section is not copied as one") {
    with.libcuda = OUROBOROS_APART_FAKE_CUDA;
  }
  PlanBuilder plan(count, image);
  plan.kernel("remember");
  const auto executor = CudaExecutor::start(with);
  const OneCall call(count);
  {
    const auto session = executor->open({plan.plan()}, call.arena());
    for (const auto placement : {Placement::low, Placement::low, Placement::high}) {
      call.prepare(placement);
      REQUIRE(session->replay(0, placement).outcome == Outcome::returned);
      CHECK(call.output(placement)[0] == 1.0F);
    }
  }
  // Two arms share the module; the third launches its kernel twice in one run.
  auto twice = plan;
  twice.kernel("remember");
  const auto race = executor->open_race({plan.plan(), plan.plan(), twice.plan()}, call.arena());
  call.prepare(Placement::low);
  race->upload();
  const auto block = race->run_block({0, 1, 1, 0, 2, 0, 2});
  INFO(block.replay.evidence);
  REQUIRE(block.replay.outcome == Outcome::returned);
  CHECK(std::all_of(block.samples.begin(), block.samples.end(),
                    [](const auto& one) { return one.same_as_first; }));
  for (const std::size_t arm : {0, 1, 2}) {
    race->download(arm);
    CHECK(call.output(Placement::low)[0] == (arm == 2 ? 2.0F : 1.0F));
  }
}

TEST_CASE("a bit that the hardware must not see is cleared in the maps of small tensors") {
  for (const std::int64_t elements : {(128 << 10) / 4 - 1, (128 << 10) / 4 + 1}) {
    PlanBuilder plan(elements, module());
    plan.kernel("describe_map");
    auto& map = plan.tensor_map(0, 48);
    map.data_type = 7;
    map.sizes = {static_cast<std::uint64_t>(elements)};
    map.box = {8};
    map.element_strides = {1};
    const auto executor = CudaExecutor::start(options());
    const OneCall call(elements);
    const auto session = executor->open({plan.plan()}, call.arena());
    call.prepare(Placement::low);
    REQUIRE(session->replay(0, Placement::low).outcome == Outcome::returned);
    CHECK(call.output(Placement::low)[3] == (elements * 4 < 128 << 10 ? 0.0F : 1.0F));
  }
}

TEST_CASE("tensor maps, clusters and cooperative launches reach the driver") {
  auto plan = builder();
  auto& launch = plan.kernel("describe_map");
  launch.cluster = {2, 1, 1};
  launch.cooperative = true;
  auto& map = plan.tensor_map(0, 48);
  map.data_type = 7;
  map.sizes = {count};
  map.box = {8};
  map.element_strides = {1};
  const Fixture fixture(plan.plan());
  const auto replay = fixture.run();
  INFO(replay.evidence);
  REQUIRE(replay.outcome == Outcome::returned);
  std::uint64_t address = 0;
  std::memcpy(&address, fixture.call.arena()->view(0, 1, Placement::low).data(), sizeof address);
  CHECK(address != 0);
  CHECK(address % 4096 == 0);
  CHECK(fixture.call.output(Placement::low)[2] == 2.0F);  // Two attributes.
}

TEST_CASE("a device's prints go nowhere") {
  const Fixture fixture(plan_of("printf_flood"));
  CHECK(fixture.run().outcome == Outcome::returned);
  CHECK(fixture.call.doubled(Placement::low));
}

TEST_CASE("one process serves many sessions, or each session has its own") {
  for (const bool reuse : {true, false}) {
    const auto executor = CudaExecutor::start(options(reuse));
    const OneCall call(count);
    std::vector<std::vector<pid_t>> processes;
    for (int i = 0; i < 3; ++i) {
      const auto session = executor->open({plan_of("scale")}, call.arena());
      processes.push_back(children("ouroboros-cuda-"));
      REQUIRE(processes.back().size() == 1);
      call.prepare(Placement::low);
      REQUIRE(session->replay(0, Placement::low).outcome == Outcome::returned);
    }
    CHECK((processes[0] == processes[1]) == reuse);
    CHECK((processes[1] == processes[2]) == reuse);
    CHECK((executor->hygiene_ms() > 0) == reuse);
  }
  CHECK(has_no_children());
}

TEST_CASE("a spare is started while a process is in use, and after a fault") {
  for (const bool reuse : {true, false}) {
    auto with = options(reuse);
    with.spare = true;
    const auto executor = CudaExecutor::start(with);
    const OneCall call(count);
    const auto session = executor->open({plan_of("trap")}, call.arena());
    CHECK(children("ouroboros-").size() == (reuse ? 1 : 2));
    call.prepare(Placement::low);
    REQUIRE(session->replay(0, Placement::low).outcome == Outcome::fault);
    CHECK(children("ouroboros-").size() == 1);
  }
  CHECK(has_no_children());
}

TEST_CASE("plans that are not the call's are refused") {
  const auto executor = CudaExecutor::start(options());
  const OneCall other(count + 1);
  const auto session = executor->open({plan_of("scale")}, other.arena());
  other.prepare(Placement::low);
  CHECK_THROWS_WITH(session->replay(0, Placement::low), ContainsSubstring("is not the call's"));
  CHECK_THROWS_AS(executor->open({}, other.arena()), Error);
}

TEST_CASE("arms take turns on the same memory") {
  const auto executor = CudaExecutor::start(options());
  const OneCall call(count);
  auto twice = builder();
  twice.kernel("scale", 1000);
  twice.kernel("scale", 1000);
  auto once = builder();
  once.kernel("scale", 1000);
  const auto race =
      executor->open_race({once.plan(), twice.plan(), plan_of("unstable")}, call.arena());
  REQUIRE(race->opening().outcome == Outcome::returned);
  call.prepare(Placement::low);
  race->upload();
  const auto block = race->run_block({0, 1, 1, 0, 2, 2});
  INFO(block.replay.evidence);
  REQUIRE(block.replay.outcome == Outcome::returned);
  REQUIRE(block.samples.size() == 6);
  CHECK(block.samples[0].latency_us == Approx(2.0).epsilon(1e-3));
  CHECK(block.samples[1].latency_us == Approx(4.0).epsilon(1e-3));
  CHECK(std::none_of(block.samples.begin(), block.samples.end(),
                     [](const auto& one) { return one.starved; }));
  CHECK(block.samples[3].same_as_first);
  CHECK(block.samples[4].same_as_first);
  CHECK_FALSE(block.samples[5].same_as_first);
  race->download(1);
  CHECK(call.doubled(Placement::low));
  CHECK_FALSE(call.arena()->slack_damage(0, Placement::low, OneCall::seed).has_value());
  // Of two blocks, with as much work behind it as an arm has.
  CHECK(block.handover_us.value() == Approx(1.002).epsilon(1e-3));
}

TEST_CASE("a block's samples come at one place among launches, and blocks at all in turn") {
  auto with = options();
  with.libcuda = OUROBOROS_UNEVEN_FAKE_CUDA;
  const auto executor = CudaExecutor::start(with);
  // Of so many the driver fills by a kernel, which is a launch too; and so is a copy of a state.
  constexpr std::int64_t many = 20'000;
  const OneCall call(many);
  PlanBuilder once(many, module());
  once.kernel("scale", 1000);
  PlanBuilder twice(many, module());
  twice.launch(MemsetLaunch{{1, 0}, 0, 4, many});
  twice.kernel("scale", 1000);
  twice.kernel("scale", 1000);
  auto restored = once;
  restored.state(std::vector<std::byte>(256));
  const auto race = executor->open_race({once.plan(), twice.plan(), restored.plan()}, call.arena());
  call.prepare(Placement::low);
  race->upload();
  constexpr std::size_t blocks = 32;
  const std::vector<std::size_t> orders[] = {{0, 1, 2, 2, 1, 0}, {2, 0, 1, 1, 0, 2}};
  std::vector<double> alone;
  std::vector<double> two;
  std::vector<double> launches;
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto& order = orders[i % 2];
    const auto block = race->run_block(order);
    REQUIRE(block.replay.outcome == Outcome::returned);
    std::vector<double> each(3);
    for (std::size_t k = 0; k < order.size(); ++k) {
      auto& before = each[order[k]];
      CHECK((before == 0 || block.samples[k].latency_us == Approx(before).margin(0.01)));
      before = block.samples[k].latency_us;
    }
    CHECK(each[2] == Approx(each[0]).margin(0.01));
    alone.push_back(each[0]);
    two.push_back(each[1]);
    launches.push_back(block.handover_us.value());
  }
  const auto longer = [](const std::vector<double>& times) {
    const auto least = *std::min_element(times.begin(), times.end());
    return std::count_if(times.begin(), times.end(),
                         [least](double one) { return one > least + 0.2; });
  };
  CHECK(longer(alone) == blocks / 8);
  CHECK(longer(two) == 2 * blocks / 8);  // The first of them or the second.
  CHECK(longer(launches) == blocks / 8);
}

namespace {

OneCall sets_of(std::size_t sets) { return OneCall(count, sets); }

}  // namespace

TEST_CASE("every set has inputs and outputs of its own") {
  const auto executor = CudaExecutor::start(options());
  const auto call = sets_of(3);
  const auto race = executor->open_race({plan_of("scale"), plan_of("scale")}, call.arena(), {0, 3});
  REQUIRE(race->opening().outcome == Outcome::returned);
  for (std::size_t set = 0; set < 3; ++set) {
    call.prepare(Placement::low, set, static_cast<float>(set + 1));
  }
  race->upload();
  const auto blocks = race->run({{2, {0, 1, 1, 0}}, {0, {1, 0, 0, 1}}});
  REQUIRE(blocks.size() == 2);
  for (const auto& block : blocks) {
    INFO(block.replay.evidence);
    REQUIRE(block.replay.outcome == Outcome::returned);
    CHECK(block.submission == Submission::stream);
    for (const auto& sample : block.samples) {
      CHECK(sample.same_as_first);
      CHECK(sample.flush_us > 0);
      CHECK(sample.span_us >= sample.flush_us + sample.latency_us);
      CHECK(sample.clock_mhz == Approx(1500).epsilon(0.01));
    }
  }
  race->download(1);
  for (const std::size_t set : {0, 2}) {
    CHECK(call.output(Placement::low, set)[4] == 2 * 2.5F * static_cast<float>(set + 1));
  }
  CHECK_THROWS_WITH(executor->open_race({plan_of("scale")}, call.arena(), {2, 2}),
                    ContainsSubstring("no call 3"));
}

TEST_CASE("who changes results that are kept to be checked is found out") {
  const auto executor = CudaExecutor::start(options());
  const OneCall call(count);
  const auto race = executor->open_race({plan_of("scale"), plan_of("amend")}, call.arena());
  call.prepare(Placement::low);
  race->upload();
  CHECK(race->run_block({0, 0}).replay.outcome == Outcome::returned);
  const auto block = race->run_block({0, 1, 1, 0});
  CHECK(block.replay.outcome == Outcome::tampered);
  CHECK_THAT(block.replay.evidence, ContainsSubstring("where the referee keeps that to check it"));
  CHECK_FALSE(block.arm.has_value());
  CHECK_THROWS_AS(race->download(1), Error);
}

TEST_CASE("who writes to where its results are added up changes nothing") {
  const auto executor = CudaExecutor::start(options());
  const OneCall call(count);
  const auto race = executor->open_race({plan_of("scale"), plan_of("miscount")}, call.arena());
  call.prepare(Placement::low);
  race->upload();
  for (int block = 0; block < 2; ++block) {
    const auto run = race->run({{0, {1, 0, 0, 1}, block == 1}}).front();
    INFO(run.replay.evidence);
    REQUIRE(run.replay.outcome == Outcome::returned);
    for (const auto& sample : run.samples) {
      CHECK(sample.same_as_first);
    }
    race->download(1);
    CHECK(call.doubled(Placement::low));
  }
}

TEST_CASE("who copies results that are kept to be checked has nothing that is right") {
  const auto executor = CudaExecutor::start(options());
  const OneCall call(count);
  for (const char* thief : {"copy_kept", "decipher_kept"}) {
    INFO(thief);
    const auto race = executor->open_race({plan_of("scale"), plan_of(thief)}, call.arena());
    call.prepare(Placement::low);
    race->upload();
    const auto block = race->run_block({0, 1});
    REQUIRE(block.replay.outcome == Outcome::returned);
    race->download(0);
    const auto right = call.output(Placement::low);
    CHECK(right[4] == 2 * 2.5F);
    race->download(1);
    CHECK(call.output(Placement::low) != right);
  }
}

TEST_CASE("what an arm did not compute on a set is not another arm's result") {
  const auto executor = CudaExecutor::start(options());
  const auto call = sets_of(2);
  const auto race = executor->open_race({plan_of("scale"), plan_of("scale")}, call.arena(), {0, 2});
  for (const std::size_t set : {0, 1}) {
    call.prepare(Placement::low, set);
  }
  race->upload();
  REQUIRE(race->run({{0, {0, 1}}, {1, {0}}}).back().replay.outcome == Outcome::returned);
  race->download(1);
  CHECK(call.output(Placement::low, 0)[4] == 2 * 2.5F);
  CHECK(call.output(Placement::low, 1)[4] != 2 * 2.5F);
}

TEST_CASE("a race may be given inputs, and asked for outputs, of its first sets alone") {
  const auto executor = CudaExecutor::start(options());
  const auto call = sets_of(3);
  const auto opened = [&] { return executor->open_race({plan_of("scale")}, call.arena(), {0, 3}); };
  const auto prepare = [&](float factor) {
    for (std::size_t set = 0; set < 3; ++set) {
      call.prepare(Placement::low, set, factor);
    }
  };
  const auto made = [&](std::size_t set) { return call.output(Placement::low, set)[4]; };
  CHECK_THROWS_WITH(opened()->run_block({0}), ContainsSubstring("on 0 sets, and 1 are used"));
  prepare(1.0F);
  for (const bool chained : {false, true}) {
    const auto race = opened();
    race->upload(2);
    const CudaRound round{chained ? std::size_t{0} : 2, {0}};
    CHECK_THROWS_WITH(race->run({round}, chained ? 3 : 1),
                      ContainsSubstring("on 2 sets, and 3 are used"));
  }
  const auto race = opened();
  race->upload(2);
  REQUIRE(race->run({{0, {0}}, {1, {0}}}).back().replay.outcome == Outcome::returned);
  race->download(0, 1);
  CHECK(made(0) == 5.0F);
  CHECK(std::isnan(made(1)));
  race->download(0);
  CHECK(made(1) == 5.0F);
  prepare(2.0F);
  race->upload(1);
  REQUIRE(race->run({{0, {0}}, {1, {0}}}).back().replay.outcome == Outcome::returned);
  race->download(0);
  CHECK(made(0) == 10.0F);
  CHECK(made(1) == 5.0F);
  race->upload();
  CHECK(race->run({{2, {0}}}).back().replay.outcome == Outcome::returned);
}

TEST_CASE("a timed arm that writes beside its outputs is found, whichever set it meets") {
  for (const std::size_t set : {std::size_t{0}, std::size_t{2}}) {
    const auto executor = CudaExecutor::start(options());
    const auto call = sets_of(3);
    const auto race =
        executor->open_race({plan_of("scale"), poke(4096 + 99)}, call.arena(), {0, 3});
    race->upload();
    CHECK(race->run({{set, {0, 0}}}).back().replay.outcome == Outcome::returned);
    const auto block = race->run({{set, {1, 0}}}).back();
    CHECK(block.replay.outcome == Outcome::fault);
    CHECK(block.replay.evidence ==
          "wrote out of bounds: 100 bytes past the end of the pages of output 'out'");
    CHECK_FALSE(block.arm.has_value());  // It is not the last one's alone to answer for.
  }
}

TEST_CASE("what a kernel leaves in local memory is gone at its next run") {
  const auto executor = CudaExecutor::start(options());
  const OneCall call(count);
  const auto race = executor->open_race({plan_of("scale"), plan_of("keep_on_stack")}, call.arena());
  call.prepare(Placement::low);
  race->upload();
  const auto block = race->run_block({0, 1, 1, 0});
  INFO(block.replay.evidence);
  REQUIRE(block.replay.outcome == Outcome::returned);
  CHECK(block.samples[2].latency_us == Approx(block.samples[1].latency_us).margin(0.1));
}

TEST_CASE("blocks take turns with copies of the code, each arm with its own") {
  const auto executor = CudaExecutor::start(options());
  const auto call = sets_of(4);
  for (const std::size_t asked : {1, 4, 7}) {
    const std::size_t copies = std::bit_floor(asked);
    CudaRaceOptions with{0, 4};
    with.code_copies = asked;
    const auto race = executor->open_race({plan_of("module_number"), plan_of("module_number")},
                                          call.arena(), with);
    CHECK(race->code_copies() == copies);
    for (std::size_t set = 0; set < 4; ++set) {
      call.prepare(Placement::low, set);
    }
    race->upload();
    for (const std::size_t chain : {1, 4}) {
      std::vector<std::set<float>> met(2);
      for (int round = 0; round < 8; ++round) {
        const auto block = race->run({{0, {0, 1, 1, 0}}}, chain).front();
        INFO(block.replay.evidence);
        REQUIRE(block.replay.outcome == Outcome::returned);
        CHECK(std::all_of(block.samples.begin(), block.samples.end(),
                          [](const auto& one) { return one.same_as_first; }));
        for (const std::size_t arm : {0, 1}) {
          race->download(arm);
          met[arm].insert(call.output(Placement::low)[0]);
        }
      }
      CHECK(met[0].size() == copies);
      CHECK(met[1].size() == copies);
      met[0].merge(met[1]);
      CHECK(met[0].size() == 2 * copies);
    }
  }
  CudaRaceOptions none;
  none.code_copies = 0;
  CHECK_THROWS_WITH(executor->open_race({plan_of("scale")}, call.arena(), none),
                    ContainsSubstring("a copy of its code"));
}

TEST_CASE("a copy of the code that is next has run before it is timed, no arm's always last") {
  const auto executor = CudaExecutor::start(options());
  const auto call = sets_of(2);
  const std::size_t arms = GENERATE(1, 2);
  CudaRaceOptions with{0, 2};
  with.code_copies = 4;
  const auto race = executor->open_race(std::vector(arms, plan_of("rusty")), call.arena(), with);
  for (const std::size_t set : {0, 1}) {
    call.prepare(Placement::low, set);
  }
  race->upload();
  const auto first = race->run_block({0, 0});
  REQUIRE(first.replay.outcome == Outcome::returned);
  const double quick = first.samples[1].latency_us;
  CHECK(first.samples[0].latency_us > quick + 9);
  std::vector<CudaRound> rounds;
  for (std::size_t i = 0; i < 8; ++i) {
    rounds.push_back({i % 2, {0, 0}});
  }
  std::size_t slow = 0;
  std::size_t code = first.code;
  for (const auto& block : race->run(rounds)) {
    REQUIRE(block.replay.outcome == Outcome::returned);
    CHECK(block.code == ++code % 4);
    slow += block.samples[0].latency_us > quick + 9;
    CHECK(block.samples[1].latency_us == Approx(quick).margin(0.1));
  }
  CHECK(slow == (arms == 1 ? 0 : rounds.size() / 2));  // Slow where the other was tried last.
}

TEST_CASE("a race's padding takes memory before all else does") {
  const auto executor = CudaExecutor::start(options());
  const OneCall call(count);
  const auto padded = [&](std::size_t mebibytes) {
    CudaRaceOptions where;
    where.padding_bytes = mebibytes << 20;
    return executor->open_race({plan_of("scale")}, call.arena(), where);
  };
  CHECK(padded(900)->opening().outcome == Outcome::returned);
  CHECK_THROWS_WITH(padded(1024), ContainsSubstring("GPU memory cannot be had"));
}

TEST_CASE("an arm that hangs while its next copy is tried ends the race by its name") {
  auto impatient = options();
  impatient.limits.replay_seconds = 0.2;
  const auto executor = CudaExecutor::start(impatient);
  const auto call = sets_of(1);
  CudaRaceOptions with;
  with.code_copies = 2;
  const auto race =
      executor->open_race({plan_of("scale"), plan_of("hang_elsewhere")}, call.arena(), with);
  call.prepare(Placement::low, 0);
  race->upload();
  const auto block = race->run_block({0, 1, 1, 0});
  CHECK(block.samples.size() == 4);
  CHECK(block.replay.outcome == Outcome::timeout);
  CHECK(block.arm == 1);
  CHECK_THAT(block.replay.evidence, ContainsSubstring("arm 1 was still running"));
}

TEST_CASE("each run of a chain has its time") {
  auto given = options();
  given.limits.replay_seconds = 0.2;
  const auto executor = CudaExecutor::start(given);
  const auto call = sets_of(4);
  const auto race = executor->open_race({plan_of("hang")}, call.arena(), {0, 4});
  for (std::size_t set = 0; set < 4; ++set) {
    call.prepare(Placement::low, set);
  }
  race->upload();
  const auto block = race->run({{0, {0}}}, 4).front();
  CHECK(block.replay.outcome == Outcome::timeout);
  CHECK_THAT(block.replay.evidence, ContainsSubstring("still running after 0.8 s"));
}

TEST_CASE("a cache can be left hot or dirty, and is timed alike") {
  const auto executor = CudaExecutor::start(options());
  const OneCall call(count);
  for (const auto cache : {Cache::cold, Cache::dirty, Cache::hot}) {
    CudaRaceOptions with;
    with.cache = cache;
    const auto race = executor->open_race({plan_of("unstable")}, call.arena(), with);
    call.prepare(Placement::low);
    race->upload();
    const auto block = race->run_block({0, 0});
    REQUIRE(block.replay.outcome == Outcome::returned);
    CHECK(block.samples[1].latency_us == Approx(1.004).epsilon(1e-3));
    race->download(0);
    // A hot cache comes from a run before the one that counts.
    CHECK(call.output(Placement::low)[0] == (cache == Cache::hot ? 1 : 0));
  }
}

TEST_CASE("what a race does not have cannot be run") {
  const auto executor = CudaExecutor::start(options());
  const auto call = sets_of(6);
  const auto complaint = [&](const CudaRound& round, std::size_t chain) -> std::string {
    const auto race = executor->open_race({plan_of("scale")}, call.arena(), {0, 6});
    call.prepare(Placement::low);
    race->upload();
    try {
      race->run({round}, chain);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(complaint({6, {0}}, 1), ContainsSubstring("no set 6"));
  CHECK_THAT(complaint({0, {1}}, 1), ContainsSubstring("no arm 1"));
  for (const std::size_t chain : {0, 7}) {
    CHECK_THAT(complaint({0, {0}}, chain), ContainsSubstring("cannot be made"));
  }
}

TEST_CASE("the outputs of an arm's last run can be kept as well") {
  const auto executor = CudaExecutor::start(options());
  const OneCall call(count);
  const auto race = executor->open_race({plan_of("unstable")}, call.arena());
  call.prepare(Placement::low);
  race->upload();
  const auto kept = [&](bool last) {
    const auto blocks = race->run({{0, {0, 0, 0}, last}});
    REQUIRE(blocks[0].replay.outcome == Outcome::returned);
    CHECK_FALSE(blocks[0].samples[2].same_as_first);
    race->download(0);
    return call.output(Placement::low)[0];
  };
  CHECK(kept(false) == 0);
  CHECK(kept(true) == 5);
}

TEST_CASE("a sample of a chain is the mean of its runs") {
  const auto executor = CudaExecutor::start(options());
  const auto call = sets_of(6);
  auto once = builder();
  once.kernel("scale", 1000);
  const auto race = executor->open_race({once.plan(), plan_of("unstable")}, call.arena(), {0, 6});
  for (std::size_t set = 0; set < 6; ++set) {
    call.prepare(Placement::low, set, static_cast<float>(set + 1));
  }
  race->upload();
  const auto alone = race->run({{0, {0}}}).front();
  const auto blocks = race->run({{0, {0, 1, 1, 0}}}, 6);
  REQUIRE(blocks[0].replay.outcome == Outcome::returned);
  // What every bracket has once is in it once, and five more runs of 2 us.
  CHECK(6 * blocks[0].samples[0].latency_us ==
        Approx(alone.samples[0].latency_us + 5 * 2.0).epsilon(1e-3));
  CHECK(blocks[0].samples[0].same_as_first);
  CHECK(blocks[0].samples[3].same_as_first);
  CHECK_FALSE(blocks[0].samples[2].same_as_first);
  race->download(0);
  for (std::size_t set = 0; set < 6; ++set) {
    CHECK(call.output(Placement::low, set)[4] == 2 * 2.5F * static_cast<float>(set + 1));
  }
}

TEST_CASE("launches that take long to submit are gated, and too many for a gate are one graph") {
  const auto executor = CudaExecutor::start(options());
  const OneCall call(count);
  for (const bool many : {false, true}) {
    const auto race =
        executor->open_race({plan_of("scale"), plan_of(many ? "flood" : "straggle")}, call.arena());
    call.prepare(Placement::low);
    race->upload();
    const auto starved = [&] {
      const auto block = race->run_block({0, 1, 1, 0});
      REQUIRE(block.replay.outcome == Outcome::returned);
      CHECK_FALSE(block.samples[0].starved);
      CHECK_FALSE(block.samples[3].starved);
      CHECK(block.samples[1].starved == block.samples[2].starved);
      return std::pair{block.submission, block.samples[1].starved};
    };
    CHECK(starved() == std::pair{Submission::stream, true});
    CHECK(starved() == std::pair{Submission::gate, many});
    CHECK(starved() == std::pair{many ? Submission::graph : Submission::gate, false});
    race->download(1);
    CHECK(call.doubled(Placement::low));
  }
}

TEST_CASE("a calibration says what was measured, and is kept for this boot") {
  std::string folder = "/tmp/ouroboros-test-XXXXXX";
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  setenv("OUROBOROS_CACHE", folder.c_str(), 1);
  const auto executor = CudaExecutor::start(options());
  const auto measured = calibration(*executor);
  CHECK(measured.device == "Fake GPU");
  CHECK(measured.tick_ns > 0);
  CHECK(measured.launch_us.size() == 3);
  CHECK(measured.launch_us.at("gate").estimate > 0);
  CHECK(measured.gap_us.at("graph").estimate == Approx(1.002).epsilon(1e-3));
  CHECK(measured.globaltimer_step_ns == 32);
  CHECK(measured.flush_sizes.size() == 4);
  CHECK(measured.peak_gbps == Approx(2 * 1.0 * 4096 / 8));
  CHECK(measured.copy_curve.size() == 6 * 4);  // Mixes, and sizes that fit into this device.
  CHECK(measured.floor_us(1 << 20, 1 << 20) > 0);
  const auto text = measured.to_json();
  CHECK(Calibration::from_json(text).to_json() == text);
  CHECK(calibration(*executor).to_json() == text);
  const std::filesystem::directory_iterator file(folder);
  CHECK(file->path().filename().string().starts_with("calibration-GPU-abab"));
  CHECK(std::distance(file, {}) == 1);
  unsetenv("OUROBOROS_CACHE");
  std::filesystem::remove_all(folder);
}

TEST_CASE("an arm that fails ends the race and is named") {
  const auto executor = CudaExecutor::start(options());
  const OneCall call(count);
  const auto race = executor->open_race({plan_of("scale"), plan_of("trap")}, call.arena());
  call.prepare(Placement::low);
  race->upload();
  const auto block = race->run_block({0, 1, 0});
  CHECK(block.replay.outcome == Outcome::fault);
  CHECK(block.arm == 1);
  CHECK(race->run_block({0}).replay.outcome == Outcome::fault);
  CHECK_THROWS_AS(race->upload(), Error);
}

TEST_CASE("state and scratch of arms are restored before every sample") {
  const auto executor = CudaExecutor::start(options());
  const OneCall call(count);
  auto counting = builder();
  const auto state = counting.state(std::vector<std::byte>(16, std::byte{0}));
  counting.kernel("count");
  counting.pointer(state);
  auto other = builder();
  const auto scratch = other.scratch(4096);
  other.launch(MemsetLaunch{{scratch, 0}, 77, 4, 1024});
  other.kernel("scale");
  const auto race = executor->open_race({counting.plan(), other.plan()}, call.arena());
  call.prepare(Placement::low);
  race->upload();
  const auto block = race->run_block({0, 1, 0, 1, 0});
  REQUIRE(block.replay.outcome == Outcome::returned);
  CHECK(block.samples[2].same_as_first);
  CHECK(block.samples[4].same_as_first);
  race->download(0);
  CHECK(call.output(Placement::low)[0] == 1.0F);
}
