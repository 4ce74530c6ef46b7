// The state of a GPU's clocks, as the executor's process reads it, with an NVML that says what each
// case wants. One case asks the machine's own.

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "cuda_plans.hpp"
#include "fake_nvml.hpp"
#include "ouroboros/error.hpp"
#include "processes.hpp"
#include "sandbox/process.hpp"

using namespace ouroboros;
using namespace ouroboros_test;

namespace {

constexpr std::int64_t count = 1000;
using Names = std::vector<std::string>;

std::unique_ptr<CudaExecutor> start() {
  CudaOptions options;
  options.libcuda = OUROBOROS_GOOD_FAKE_CUDA;
  options.spare = false;
  options.limits.replay_seconds = 0.2;
  return CudaExecutor::start(options);
}

LaunchPlan plan_of(const std::string& function) {
  const std::string text = "fake module";
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  PlanBuilder plan(count, {bytes, bytes + text.size()});
  plan.kernel(function);
  return plan.plan();
}

/// A child of this process that runs until this goes, and is none of the library's.
class Stranger {
 public:
  Stranger() : pid_(fork()) {
    if (pid_ == 0) {
      for (;;) pause();
    }
  }
  ~Stranger() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

}  // namespace

TEST_CASE("the state of a GPU arrives, in its units") {
  const FakeNvml nvml;
  const auto executor = start();
  const auto state = executor->state();
  CHECK(state.reason.empty());
  CHECK(state.sm_clock_mhz == 1755);
  CHECK(state.sm_clock_max_mhz == 1980);
  CHECK(state.memory_clock_mhz == 2619);
  CHECK(state.power_w == Approx(312.5));
  CHECK(state.power_limit_w == Approx(700));
  CHECK(state.temperature_c == 41);
  CHECK(state.slowdowns.empty());
  CHECK_FALSE(state.clocks_locked);
  CHECK(state.other_processes == 0);
  CHECK_FALSE(state.shared);
  CHECK(state.power_violation_ns == 5000);
  CHECK(state.thermal_violation_ns == 7000);
}

TEST_CASE("each reason for slow clocks has its name, and what slows nothing has none") {
  FakeNvml nvml;
  const auto executor = start();
  const std::pair<int, Names> bits[] = {{0x1, {}},
                                        {0x2, {}},
                                        {0x4, {"sw_power_cap"}},
                                        {0x8, {"hw_slowdown"}},
                                        {0x10, {"sync_boost"}},
                                        {0x20, {"sw_thermal_slowdown"}},
                                        {0x40, {"hw_thermal_slowdown"}},
                                        {0x80, {"hw_power_brake"}},
                                        {0x100, {}},
                                        {0x48, {"hw_slowdown", "hw_thermal_slowdown"}}};
  for (const auto& [bit, names] : bits) {
    INFO(bit);
    nvml.say("reasons", bit);
    const auto state = executor->state();
    CHECK(state.slowdowns == names);
    CHECK(state.clocks_locked == (bit == 0x2));
    CHECK(state.reason.empty());
  }
}

TEST_CASE("a race tells the state between its blocks, and the difference of two") {
  FakeNvml nvml;
  const auto executor = start();
  const OneCall call(count);
  const auto race = executor->open_race({plan_of("scale"), plan_of("hang")}, call.arena());
  call.prepare(Placement::low);
  race->upload();
  const auto before = race->state();
  CHECK(before.reason.empty());
  CHECK(before.sm_clock_mhz == 1755);
  // It is the race's own process that answers: no other was started.
  CHECK(children("ouroboros-cuda-").size() == 1);
  REQUIRE(race->run_block({0, 0}).replay.outcome == Outcome::returned);
  nvml.say("sm_clock", 1200).say("power_violation", 2005000).say("reasons", 4);
  const auto after = race->state();
  CHECK(after.sm_clock_mhz == 1200);
  CHECK(after.slowdowns == Names{"sw_power_cap"});
  CHECK(after.power_violation_ns - before.power_violation_ns == 2000000);
  CHECK(after.thermal_violation_ns == before.thermal_violation_ns);
  // The race goes on, and the executor can be asked as well.
  REQUIRE(race->run_block({0}).replay.outcome == Outcome::returned);
  CHECK(executor->state().sm_clock_mhz == 1200);

  REQUIRE(race->run_block({1}).replay.outcome == Outcome::timeout);
  const auto over = race->state();
  CHECK(over.sm_clock_mhz == 0);
  CHECK_THAT(over.reason, ContainsSubstring("over"));
  CHECK_THAT(over.reason, ContainsSubstring("arm 1 was still running"));
}

TEST_CASE("an executor answers with sessions open, and after they were closed") {
  const FakeNvml nvml;
  const auto executor = start();
  const auto first = children("ouroboros-cuda-");
  REQUIRE(first.size() == 1);
  CHECK(executor->state().sm_clock_mhz == 1755);
  CHECK(children("ouroboros-cuda-") == first);  // The process goes on to wait for a session.
  const OneCall call(count);
  {
    const auto session = executor->open({plan_of("scale")}, call.arena());
    CHECK(executor->state().sm_clock_mhz == 1755);
    call.prepare(Placement::low);
    CHECK(session->replay(0, Placement::low).outcome == Outcome::returned);
  }
  CHECK(executor->state().sm_clock_mhz == 1755);
}

TEST_CASE("an older NVML tells the reasons under their older name, and what it lacks is named") {
  FakeNvml nvml(OUROBOROS_OLD_FAKE_NVML);
  nvml.say("old_reasons", 0x28).say("reasons", 0x4);
  const auto state = start()->state();
  CHECK(state.slowdowns == Names{"hw_slowdown", "sw_thermal_slowdown"});
  CHECK(state.sm_clock_mhz == 1755);
  CHECK(state.power_violation_ns == 0);
  CHECK(state.thermal_violation_ns == 0);
  CHECK(state.reason ==
        "NVML does not tell power_violation_ns (this version has no function for it), "
        "thermal_violation_ns (this version has no function for it)");
}

TEST_CASE("the newer name of the reasons goes before the older") {
  FakeNvml nvml;
  nvml.say("old_reasons", 0x8).say("reasons", 0x4);
  CHECK(start()->state().slowdowns == Names{"sw_power_cap"});
}

TEST_CASE("a question that fails leaves a zero and a reason, and the others are answered") {
  const auto fails = GENERATE(as<std::string>(), "sm_clock", "sm_clock_max", "memory_clock",
                              "power", "power_limit", "temperature", "reasons", "power_violation",
                              "thermal_violation", "processes", "utilization");
  FakeNvml nvml;
  nvml.say("fail_" + fails, 3).say("reasons", 6).say("process", 4000001);
  const auto state = start()->state();
  CHECK_THAT(state.reason, ContainsSubstring("Not Supported"));
  CHECK(state.reason.find(',') == std::string::npos);
  CHECK((state.sm_clock_mhz == 0) == (fails == "sm_clock"));
  CHECK((state.sm_clock_max_mhz == 0) == (fails == "sm_clock_max"));
  CHECK((state.memory_clock_mhz == 0) == (fails == "memory_clock"));
  CHECK((state.power_w == 0) == (fails == "power"));
  CHECK((state.power_limit_w == 0) == (fails == "power_limit"));
  CHECK((state.temperature_c == 0) == (fails == "temperature"));
  CHECK(state.slowdowns.empty() == (fails == "reasons"));
  CHECK(state.clocks_locked == (fails != "reasons"));
  CHECK((state.power_violation_ns == 0) == (fails == "power_violation"));
  CHECK((state.thermal_violation_ns == 0) == (fails == "thermal_violation"));
  CHECK((state.other_processes == 0) == (fails == "processes"));
}

TEST_CASE("what others did before a state was asked for is not taken for later") {
  FakeNvml nvml;
  nvml.say("process", 5000000).say("busy", 30);
  const auto executor = start();
  const auto asked_us = std::chrono::duration_cast<std::chrono::microseconds>(
                            std::chrono::system_clock::now().time_since_epoch())
                            .count();
  CHECK(executor->state().other_busy_percent == 30);  // Of the last second.
  nvml.say("sampled_us", asked_us + 200'000);
  CHECK(executor->state().other_busy_percent == 0);
  constexpr long long minute = 60'000'000;
  nvml.say("sampled_us", asked_us + minute);
  CHECK(executor->state().other_busy_percent == 30);
}

TEST_CASE("a driver that has seen nobody compute says that nothing was found") {
  FakeNvml nvml;
  constexpr int not_found = 6;
  nvml.say("fail_utilization", not_found).say("process", 5000000).say("busy", 30);
  const auto state = start()->state();
  CHECK(state.reason.empty());
  CHECK(state.other_processes == 1);
  CHECK(state.other_busy_percent == 0);
}

TEST_CASE("without a usable NVML everything else goes on, and the reason says why") {
  std::string expected;
  std::string library = OUROBOROS_GOOD_FAKE_NVML;
  std::string fault = "nothing";
  SECTION("no library") {
    library = "/nowhere/libnvidia-ml.so.1";
    expected = "NVML could not be loaded: /nowhere/libnvidia-ml.so.1";
  }
  SECTION("a library of something else") {
    library = OUROBOROS_EMPTY_FAKE_NVML;
    expected = "is not NVML";
  }
  SECTION("one that does not start") {
    fault = "fail_init";
    expected = "NVML could not be initialised: An error of the fake NVML";
  }
  SECTION("one that does not know the GPU") {
    fault = "unknown";
    expected = "NVML does not know GPU-abababab-abab-abab-abab-abababababab: Not Found";
  }
  FakeNvml nvml(library);
  nvml.say(fault, 9);
  const auto executor = start();
  const OneCall call(count);
  const auto race = executor->open_race({plan_of("scale")}, call.arena());
  for (int i = 0; i < 2; ++i) {
    const auto state = race->state();
    CHECK_THAT(state.reason, ContainsSubstring(expected));
    CHECK(state.sm_clock_mhz == 0);
    CHECK(state.slowdowns.empty());
  }
  call.prepare(Placement::low);
  race->upload();
  CHECK(race->run_block({0}).replay.outcome == Outcome::returned);
}

TEST_CASE("an NVML that takes the process with it costs the race, and not the caller") {
  FakeNvml nvml;
  nvml.say("crash", 1);
  const auto executor = start();
  CHECK_THAT(executor->state().reason, ContainsSubstring("died of signal 9"));
  const OneCall call(count);
  const auto race = executor->open_race({plan_of("scale")}, call.arena());
  CHECK_THAT(race->state().reason, ContainsSubstring("died of signal 9"));
  CHECK_THAT(race->state().reason, ContainsSubstring("over"));
  CHECK_THROWS_AS(race->run_block({0}), Error);
}

TEST_CASE("an NVML that does not answer costs the race, and says so", "[slow]") {
  FakeNvml nvml;
  nvml.say("hang", 1);
  const auto executor = start();
  const OneCall call(count);
  const auto race = executor->open_race({plan_of("scale")}, call.arena());
  CHECK_THAT(race->state().reason, ContainsSubstring("NVML did not answer within 20 s"));
  CHECK_THAT(race->state().reason, ContainsSubstring("over"));
  CHECK_THROWS_WITH(race->run_block({0}), ContainsSubstring("open another session"));
}

TEST_CASE("a call for the state can be cancelled") {
  const FakeNvml nvml;
  bool cancelled = false;
  CudaOptions options;
  options.libcuda = OUROBOROS_GOOD_FAKE_CUDA;
  options.cancelled = [&] { return cancelled; };
  const auto executor = CudaExecutor::start(options);
  const OneCall call(count);
  const auto race = executor->open_race({plan_of("scale")}, call.arena());
  const auto process = children("ouroboros-cuda-");
  REQUIRE_FALSE(process.empty());
  for (const auto pid : process) kill(pid, SIGSTOP);
  cancelled = true;
  CHECK_THROWS_WITH(race->state(), ContainsSubstring("cancelled"));
}

TEST_CASE("other programs' processes are counted, and the library's are not") {
  FakeNvml nvml;
  const Stranger stranger;
  sandbox::Request request;
  request.command = {"/bin/sh", "-c", "sleep 100 & wait"};
  request.writable = {"/"};
  const sandbox::Process helper(request);
  REQUIRE(sandbox::leaders() == std::vector<pid_t>{helper.pid()});
  pid_t grandchild = 0;
  while (grandchild == 0) {
    std::ifstream(fmt::format("/proc/{0}/task/{0}/children", helper.pid())) >> grandchild;
  }
  const auto executor = start();
  const OneCall call(count);
  const auto session = executor->open({plan_of("scale")}, call.arena());
  for (const auto pid : children("ouroboros-cuda-")) nvml.say("process", pid);
  nvml.say("process", getpid()).say("process", helper.pid()).say("process", grandchild);
  CHECK(executor->state().other_processes == 0);
  nvml.say("busy", 30);
  CHECK(executor->state().other_busy_percent == 0);
  nvml.say("process", stranger.pid());
  CHECK(executor->state().other_processes == 1);
  CHECK(executor->state().other_busy_percent == 30);
  // Nothing that lives, so nobody's child. One process may have several contexts.
  for (int i = 0; i < 100; ++i) nvml.say("process", 5000000 + i).say("process", 5000000);
  const auto state = executor->state();
  CHECK(state.other_processes == 101);
  CHECK(state.other_busy_percent == 100);
  CHECK(state.reason.empty());
}

TEST_CASE("a list of processes that lacks the asking one counts nobody") {
  FakeNvml nvml;
  nvml.say("hidden", 1).say("process", 5000000);
  const auto executor = start();
  auto state = executor->state();
  CHECK(state.other_processes == 0);
  CHECK(state.reason ==
        "NVML does not tell other_processes (its list of processes lacks this one)");
  // A client of MPS is in another list.
  nvml.say("mps_self", 1).say("mps_process", 5000001);
  state = executor->state();
  CHECK(state.other_processes == 2);
  CHECK(state.reason.empty());
  CHECK(state.shared);
}

TEST_CASE("a part of a GPU is shared, and shows the whole one's clocks") {
  FakeNvml nvml;
  SECTION("by its own id") { nvml.say("mig", 1); }
  SECTION("by the GPU's mode") { nvml.say("mig_mode", 1); }
  const auto state = start()->state();
  CHECK(state.reason.empty());
  CHECK(state.shared);
  CHECK(state.sm_clock_mhz == 1755);
}

TEST_CASE("helpers that have ended are forgotten") {
  {
    sandbox::Request request;
    request.command = {"/bin/true"};
    request.writable = {"/"};
    sandbox::Process helper(request);
    CHECK(sandbox::leaders().size() == 1);
    CHECK(helper.wait(std::chrono::seconds{10}).has_value());
    CHECK(sandbox::leaders().empty());
  }
  CHECK(sandbox::leaders().empty());
}

TEST_CASE("this machine's GPU tells its state", "[gpu]") {
  const auto executor = CudaExecutor::start({});
  const auto print = [](const char* when, const GpuState& state) {
    std::string slowdowns;
    for (const auto& name : state.slowdowns) slowdowns += " " + name;
    std::printf(
        "%s: SM clock %d of %d MHz, memory clock %d MHz, %.1f of %.1f W, %d C, slowdowns:%s, "
        "locked %d, other processes %d, shared %d, violations: power %llu ns, thermal %llu ns, "
        "reason: %s\n",
        when, state.sm_clock_mhz, state.sm_clock_max_mhz, state.memory_clock_mhz, state.power_w,
        state.power_limit_w, state.temperature_c, slowdowns.c_str(), state.clocks_locked,
        state.other_processes, state.shared,
        static_cast<unsigned long long>(state.power_violation_ns),
        static_cast<unsigned long long>(state.thermal_violation_ns), state.reason.c_str());
  };
  const auto begin = std::chrono::steady_clock::now();
  const auto first = executor->state();
  const auto middle = std::chrono::steady_clock::now();
  const auto second = executor->state();
  const std::chrono::duration<double, std::milli> initial = middle - begin;
  const std::chrono::duration<double, std::milli> again = std::chrono::steady_clock::now() - middle;
  print("at first", first);
  print("again", second);
  std::printf("the first took %.1f ms, another %.2f ms\n", initial.count(), again.count());

  INFO(first.reason);
  const auto told = [&](const char* field) {
    return first.reason.find(field) == std::string::npos;
  };
  // A machine without NVML says so; one that has it knows its clocks.
  if (first.reason.find("NVML could not be") != std::string::npos) return;
  CHECK((!told("sm_clock_mhz") || (first.sm_clock_mhz >= 100 && first.sm_clock_mhz <= 5000)));
  CHECK((!told("sm_clock_max_mhz") || first.sm_clock_max_mhz >= first.sm_clock_mhz));
  CHECK((!told("memory_clock_mhz") || first.memory_clock_mhz >= 100));
  CHECK((!told("power_w") || (first.power_w > 1 && first.power_w < 3000)));
  CHECK((!told("power_limit_w") || (first.power_limit_w > 10 && first.power_limit_w < 3000)));
  CHECK((!told("temperature_c") || (first.temperature_c > 5 && first.temperature_c < 110)));
  CHECK(first.other_processes >= 0);
  CHECK(second.power_violation_ns >= first.power_violation_ns);
  CHECK(second.thermal_violation_ns >= first.thermal_violation_ns);
}
