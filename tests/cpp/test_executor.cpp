// The host executor on real compiled modules: what it hands over, what it stops, what it reports.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "compile/compiler.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/executor.hpp"

using namespace ouroboros;

namespace {

constexpr std::int64_t count = 1000;  // Not a multiple of 16: the high placement leaves slack.

Call double_it(const std::string& entry = "run_float32") {
  return {entry,
          {{"x", BufferRole::input, DType::float32, {count}},
           {"out", BufferRole::output, DType::float32, {count}}},
          {count}};
}

/// A compiled candidate, its arena and its sealed process.
struct Sealed {
  std::shared_ptr<Arena> arena;
  std::unique_ptr<Session> session;

  Sealed(const std::string& body, const std::string& outside = "", Limits limits = {},
         std::vector<Call> calls = {double_it()}) {
    const std::string source = "#include <cstdint>\n" + outside +
                               "\nextern \"C\" void run_float32(const float* x, float* out, "
                               "std::int64_t n) {\n" +
                               body + "\n}\n";
    const auto compiled = compile::compile_cpp(source, "#include <cstdint>\n", {});
    INFO(compiled.record.log);
    REQUIRE(compiled.result == compile::Result::compiled);
    arena = std::make_shared<Arena>(calls);
    session = make_host_executor(limits)->open({compiled.image, calls}, arena);
  }

  std::vector<float> input(Placement placement) const {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i) * 0.5F;
    }
    arena->poison(0, placement, 7);
    std::memcpy(arena->view(0, 0, placement).data(), values.data(), count * sizeof(float));
    return values;
  }

  std::vector<float> output(Placement placement) const {
    std::vector<float> values(count);
    std::memcpy(values.data(), arena->view(0, 1, placement).data(), count * sizeof(float));
    return values;
  }

  Replay run(Placement placement = Placement::low) const {
    input(placement);
    return session->replay(0, placement);
  }
};

const std::string honest = "for (std::int64_t i = 0; i < n; ++i) out[i] = 2 * x[i];";

}  // namespace

TEST_CASE("a sealed candidate computes on the referee's memory at both placements") {
  const Sealed sealed(honest);
  REQUIRE(sealed.session->opening().outcome == Outcome::returned);
  CHECK(sealed.session->isolation().sealed);
  for (const auto placement : {Placement::low, Placement::high}) {
    const auto values = sealed.input(placement);
    const auto replay = sealed.session->replay(0, placement);
    INFO(replay.evidence);
    REQUIRE(replay.outcome == Outcome::returned);
    CHECK(replay.elapsed.count() > 0);
    const auto result = sealed.output(placement);
    for (std::size_t i = 0; i < values.size(); ++i) {
      REQUIRE(result[i] == 2 * values[i]);
    }
    CHECK_FALSE(sealed.arena->slack_damage(0, placement, 7).has_value());
  }
}

TEST_CASE("buffers are aligned as the interface promises") {
  const Sealed sealed(
      "out[0] = float(reinterpret_cast<std::uintptr_t>(x) % 64);"
      "out[1] = float(reinterpret_cast<std::uintptr_t>(out) % 64);");
  for (const auto placement : {Placement::low, Placement::high}) {
    REQUIRE(sealed.run(placement).outcome == Outcome::returned);
    CHECK(sealed.output(placement)[0] == 0.0F);
    CHECK(sealed.output(placement)[1] == 0.0F);
  }
}

TEST_CASE("faults are told apart, each with its evidence") {
  struct Row {
    const char* body;
    Placement placement;
    Outcome outcome;
    const char* evidence;
  };
  const Row rows[] = {
      {"const_cast<float*>(x)[0] = 1; out[0] = 1;", Placement::low, Outcome::fault,
       "read-only input 'x'"},
      {"out[0] = x[-1];", Placement::low, Outcome::fault, "before the pages of input 'x'"},
      {"out[-1] = 1;", Placement::low, Outcome::fault, "before the pages of output 'out'"},
      {"out[0] = x[n + 8];", Placement::high, Outcome::fault, "past the pages of input 'x'"},
      {"out[n + 8] = 1;", Placement::high, Outcome::fault, "past the pages of output 'out'"},
      {"*reinterpret_cast<volatile int*>(8) = 1;", Placement::low, Outcome::fault,
       "invalid address 0x8"},
      {"volatile int zero = 0; out[0] = float(7 / zero);", Placement::low, Outcome::fault,
       "SIGFPE"},
      {"__builtin_trap();", Placement::low, Outcome::fault, "SIGILL"},
      {"asm volatile(\"syscall\" : : \"a\"(39) : \"rcx\", \"r11\", \"memory\");", Placement::low,
       Outcome::forbidden_syscall, "getpid"},
      {"asm volatile(\"syscall\" : : \"a\"(46) : \"rcx\", \"r11\", \"memory\");", Placement::low,
       Outcome::forbidden_syscall, "sendmsg"},
      {"__builtin_printf(\"%d\\n\", 7);", Placement::low, Outcome::forbidden_syscall, "it prints"},
      {"asm volatile(\"syscall\" : : \"a\"(231), \"D\"(0) : \"rcx\", \"r11\", \"memory\");",
       Placement::low, Outcome::exited, "exit status 0"},
  };
  for (const auto& row : rows) {
    const Sealed sealed(row.body);
    INFO(row.body);
    const auto replay = sealed.run(row.placement);
    INFO(replay.evidence);
    CHECK(replay.outcome == row.outcome);
    CHECK(replay.evidence.find(row.evidence) != std::string::npos);
    // The end is final.
    CHECK(sealed.session->replay(0, row.placement).outcome == row.outcome);
  }
}

TEST_CASE("a write into the slack behind an output is seen") {
  const Sealed sealed(honest + " out[n] = 3;");
  REQUIRE(sealed.run(Placement::low).outcome == Outcome::returned);
  const auto damage = sealed.arena->slack_damage(0, Placement::low, 7);
  REQUIRE(damage.has_value());
  CHECK(damage->find("past the end of output 'out'") != std::string::npos);
}

TEST_CASE(
    "what an output holds before it is written is no number at one end and any at the other") {
  Call call{"run", {}, {}};
  for (const auto dtype : {DType::float32, DType::int32, DType::boolean}) {
    call.buffers.push_back({"out", BufferRole::output, dtype, {10}});
  }
  const Arena arena({call});
  const auto held = [&]<typename T>(std::size_t buffer, Placement placement, T) {
    std::array<T, 10> values;
    std::memcpy(values.data(), arena.view(0, buffer, placement).data(), sizeof values);
    const auto same = [&](T one) { return std::memcmp(&one, &values[0], sizeof one) == 0; };
    CHECK((placement == Placement::low || std::all_of(values.begin(), values.end(), same)));
    return values[0];
  };
  std::set<float> reals;
  std::set<std::int32_t> wholes;
  std::set<std::uint8_t> bools;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    arena.poison(0, Placement::low, seed);
    CHECK(std::isnan(held(0, Placement::low, float{})));
    CHECK(held(2, Placement::low, std::uint8_t{}) > 1);
    CHECK(arena.unwritten(0, 0, Placement::low, seed).has_value());
    arena.poison(0, Placement::high, seed);
    reals.insert(held(0, Placement::high, float{}));
    wholes.insert(held(1, Placement::high, std::int32_t{}));
    bools.insert(held(2, Placement::high, std::uint8_t{}));
    CHECK_FALSE(arena.slack_damage(0, Placement::high, seed).has_value());
    // A right result may be just that number.
    CHECK_FALSE(arena.unwritten(0, 0, Placement::high, seed).has_value());
  }
  REQUIRE(reals.size() == 4);
  CHECK(*reals.begin() < -1e30F);
  CHECK(*reals.rbegin() > 1e30F);
  CHECK(reals.count(0.0F) == 1);
  using Limits = std::numeric_limits<std::int32_t>;
  CHECK(wholes == std::set<std::int32_t>{Limits::min(), -1, 0, 1, Limits::max()});
  CHECK(bools == std::set<std::uint8_t>{0, 1});
  // Timed runs meet both kinds.
  int numbers = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    arena.poison_outputs(0, Placement::low, seed);
    numbers += std::isnan(held(0, Placement::low, float{})) ? 0 : 1;
  }
  CHECK((numbers > 20 && numbers < 80));
}

TEST_CASE("of each output it is told whether it was written") {
  const auto dtype = DType::float32;
  const Arena arena(
      {{"run",
        {{"a", BufferRole::output, dtype, {10}}, {"b", BufferRole::output, dtype, {10}}},
        {}}});
  arena.poison(0, Placement::low, 7);
  std::memset(arena.view(0, 0, Placement::low).data(), 0, 10 * sizeof(float));
  CHECK_FALSE(arena.unwritten(0, 0, Placement::low, 7).has_value());
  CHECK(arena.unwritten(0, 1, Placement::low, 7) ==
        "left 10 of 10 elements of output 'b' unwritten, from element 0 on");
}

TEST_CASE("no constructor runs before the seal") {
  const Sealed sealed(honest, "#include <unistd.h>\nstatic int early = getppid();\n");
  CHECK(sealed.session->opening().outcome == Outcome::forbidden_syscall);
  CHECK(sealed.session->opening().evidence.find("getppid") != std::string::npos);
}

TEST_CASE("a candidate that never ends is stopped") {
  Limits limits;
  limits.replay_seconds = 0.2;
  const Sealed sealed("for (;;) asm volatile(\"\");", "", limits);
  CHECK(sealed.run().outcome == Outcome::timeout);
}

TEST_CASE("a stack overflow is called by its name") {
  const Sealed sealed("out[0] = deep(x, n);",
                      "__attribute__((noinline)) float deep(const float* x, std::int64_t n) {"
                      "volatile float pad[256]; pad[n % 256] = x[0];"
                      "return deep(x, n + 1) + pad[n % 256]; }");
  const auto replay = sealed.run();
  CHECK(replay.outcome == Outcome::fault);
  CHECK(replay.evidence.find("overflowed its stack") != std::string::npos);
}

TEST_CASE("the heap is there, and it ends") {
  const std::string fill =
      "std::vector<float> copy(x, x + n); for (std::int64_t i = 0; i < n; ++i) out[i] = copy[i];";
  const Sealed sealed(fill, "#include <vector>\n");
  CHECK(sealed.run().outcome == Outcome::returned);

  const Sealed greedy("std::vector<float> much(std::size_t(1) << 30, x[0]); out[0] = much[n];",
                      "#include <vector>\n");
  const auto replay = greedy.run();
  INFO(replay.evidence);
  CHECK(replay.outcome == Outcome::out_of_memory);
}

TEST_CASE("an entry point that is missing is no surprise") {
  const Sealed sealed(honest, "", {}, {double_it(), double_it("run_float64")});
  CHECK(sealed.session->exports(0));
  CHECK_FALSE(sealed.session->exports(1));
  CHECK(sealed.session->replay(1, Placement::low).outcome == Outcome::load_failed);
  CHECK(sealed.run().outcome == Outcome::returned);
}

TEST_CASE("an unknown symbol is named") {
  const Sealed sealed("nowhere_to_be_found();", "extern \"C\" void nowhere_to_be_found();");
  CHECK(sealed.session->opening().outcome == Outcome::load_failed);
  CHECK(sealed.session->opening().evidence.find("nowhere_to_be_found") != std::string::npos);
}

TEST_CASE("saying 'done' early only stops the clock early") {
  // The candidate makes the hand-over itself with half of the work done, and does the rest later.
  const Sealed sealed(
      "for (std::int64_t i = 0; i < n / 2; ++i) out[i] = 2 * x[i];"
      "long result; asm volatile(\"syscall\" : \"=a\"(result) : \"a\"(0x4f55), \"D\"(0) : \"rcx\", "
      "\"r11\", \"memory\");"
      "for (std::int64_t i = n / 2; i < n; ++i) out[i] = 2 * x[i];");
  const auto values = sealed.input(Placement::low);
  REQUIRE(sealed.session->replay(0, Placement::low).outcome == Outcome::returned);
  const auto result = sealed.output(Placement::low);
  CHECK(result[0] == 2 * values[0]);
  CHECK(result[count - 1] != 2 * values[count - 1]);
}

TEST_CASE("an assertion that fails is a fault, and no attempt to print") {
  struct Row {
    const char* outside;
    const char* body;
  };
  for (const auto& [outside, body] :
       {Row{"#undef NDEBUG\n#include <cassert>\n", "assert(n < 0);"},
        // As the standard library's headers do.
        Row{"extern \"C\" void fail(const char*, int, const char*, const char*)"
            " asm(\"_ZSt21__glibcxx_assert_failPKciS0_S0_\");\n",
            "fail(\"\", 1, \"\", \"\");"}}) {
    const auto replay = Sealed(body, outside).run(Placement::low);
    CHECK(replay.outcome == Outcome::fault);
    CHECK(replay.evidence == "an assertion failed");
  }
}

TEST_CASE("trusted calls use the same hand-over, and their exceptions come through") {
  int runs = 0;
  auto session = open_trusted({[&runs] { ++runs; }, [] { throw std::runtime_error("boom"); }});
  CHECK(session->replay(0, Placement::low).outcome == Outcome::returned);
  CHECK(session->replay(0, Placement::low).elapsed.count() > 0);
  CHECK(runs == 2);
  CHECK_THROWS_WITH(session->replay(1, Placement::low), "boom");
  CHECK(session->replay(0, Placement::low).outcome == Outcome::returned);
}

TEST_CASE("a cancelled referee lets go of a running candidate") {
  const std::string source = "extern \"C\" void run_float32() { for (;;) asm volatile(\"\"); }";
  const auto compiled = compile::compile_cpp(source, "", {});
  REQUIRE(compiled.result == compile::Result::compiled);
  const std::vector<Call> calls = {{"run_float32", {}, {}}};
  bool given_up = false;  // Not before it runs: a slow opening asks, too.
  auto executor = make_host_executor({}, [&given_up] { return given_up; });
  auto session = executor->open({compiled.image, calls}, std::make_shared<Arena>(calls));
  given_up = true;
  try {
    session->replay(0, Placement::low);
    FAIL("not cancelled");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::cancelled);
  }
}
