// One referee in many threads: honest candidates and cheats side by side, on the host and on a GPU,
// and every verdict is the one that its candidate deserves. scripts/tsan.sh runs this, again and
// again, under ThreadSanitizer.

#include <atomic>
#include <cstdlib>
#include <latch>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "doubling_plans.hpp"
#include "ouroboros/referee.hpp"
#include "processes.hpp"

using namespace ouroboros;
using ouroboros_test::doubling;

namespace {

constexpr std::size_t thread_count = 4;

struct Known {
  std::string name;
  Candidate candidate;
  Status status;
};

Candidate on_host(const std::string& body) {
  return {
      "#include <unistd.h>\n#include <cstdlib>\n"
      "extern \"C\" void run_float32(const float* x, float* out, int64_t n) {\n" +
      body + "}\n"};
}

Candidate on_gpu(const std::string& kernel) {
  Candidate candidate{
      "//! dtypes float32\n"
      "//! launch " +
      kernel +
      "<<<cdiv(out.elements, 256), 256>>>(x, out, out.elements: int32)\n"
      "extern \"C\" __global__ void " +
      kernel +
      "(const float* x, float* out, int n) {\n"
      "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) out[i] = 2 * x[i];\n"
      "}\n"};
  candidate.language = "cuda";
  return candidate;
}

const std::string loop = "for (int64_t i = 0; i < n; ++i) out[i] = 2 * x[i];\n";

const std::vector<Known>& host_candidates() {
  static const std::vector<Known> all = {
      {"honest", on_host(loop), Status::ok},
      {"one wrong", on_host(loop + "out[n - 1] += 1;\n"), Status::incorrect},
      {"remembers",
       on_host("static float kept; if (kept == 0) kept = x[0];\n" + loop + "out[0] = 2 * kept;\n"),
       Status::incorrect},
      {"asks the kernel", on_host(loop + "getppid();\n"), Status::rejected},
      {"aborts", on_host("std::abort();\n"), Status::runtime_error},
      {"loops", on_host("for (volatile int i = 0;; i = 1) {}\n"), Status::timeout},
      {"no C++", {"nonsense"}, Status::compile_error},
  };
  return all;
}

const std::vector<Known>& gpu_candidates() {
  static const std::vector<Known> all = {
      {"honest kernel", on_gpu("scale"), Status::ok},
      {"kernel that skips its tail", on_gpu("skip_tail"), Status::incorrect},
      {"kernel that traps", on_gpu("trap"), Status::runtime_error},
      {"honest", on_host(loop), Status::ok},
  };
  return all;
}

/// The fake driver is this process' GPU while this lives; its calibration is kept nowhere else.
class FakeGpu {
 public:
  FakeGpu() {
    setenv("OUROBOROS_CACHE", folder_.path().c_str(), 1);
    setenv("OUROBOROS_LIBCUDA", OUROBOROS_GOOD_FAKE_CUDA, 1);
  }
  ~FakeGpu() {
    unsetenv("OUROBOROS_CACHE");
    unsetenv("OUROBOROS_LIBCUDA");
  }
  FakeGpu(const FakeGpu&) = delete;
  FakeGpu& operator=(const FakeGpu&) = delete;

 private:
  ouroboros_test::Folder folder_;
};

struct Hooks {
  std::atomic<int> lines = 0;
  std::atomic<int> questions = 0;
};

Options options(Hooks& hooks) {
  Options result;
  result.seed = 7;
  result.limits.replay_seconds = 3;  // A busy machine keeps an honest candidate waiting, too.
  result.timing.looks = {16};
  result.timing.budget_seconds = 60;  // Blocks end it, however slow the machine is.
  result.log = [&hooks](std::string_view) { ++hooks.lines; };
  result.cancelled = [&hooks] { return ++hooks.questions < 0; };
  return result;
}

/// Judges each candidate in each thread, every thread in another order, all on one referee; every
/// other thread on the same drawn cases.
void judge_all(const Referee& referee, const std::vector<Known>& known) {
  const auto problem = doubling();
  const auto shared = referee.share_cases(problem);
  std::vector<std::vector<Verdict>> verdicts(thread_count, std::vector<Verdict>(known.size()));
  std::latch start(thread_count);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < thread_count; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      for (std::size_t i = 0; i < known.size(); ++i) {
        const std::size_t k = (i + t) % known.size();
        verdicts[t][k] = t % 2 == 0 ? referee.judge(problem, known[k].candidate)
                                    : referee.judge(problem, known[k].candidate, *shared);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t t = 0; t < thread_count; ++t) {
    for (std::size_t k = 0; k < known.size(); ++k) {
      const auto& verdict = verdicts[t][k];
      CAPTURE(t, known[k].name, verdict.summary);
      CHECK(verdict.status == known[k].status);
      // One seed, the same cases, the same results.
      const auto& first = verdicts[0][k].correctness;
      CHECK(verdict.correctness.cases_passed == first.cases_passed);
      CHECK(verdict.correctness.max_error_over_allowed == first.max_error_over_allowed);
    }
  }
  CHECK(ouroboros_test::children("ouroboros-execu").empty());
}

}  // namespace

TEST_CASE("host candidates, honest and not, are judged side by side") {
  Hooks hooks;
  auto settings = options(hooks);
  settings.until = Stage::sweep;
  judge_all(Referee(settings), host_candidates());
  CHECK(hooks.lines > 0);
  CHECK(hooks.questions > 0);
}

TEST_CASE("timed candidates wait for each other, and the others do not wait for them") {
  Hooks hooks;
  judge_all(Referee(options(hooks)), {host_candidates()[0], host_candidates()[1]});
}

TEST_CASE("candidates for one GPU are judged side by side with those for the host") {
  const FakeGpu gpu;
  Hooks hooks;
  auto settings = options(hooks);
  settings.until = Stage::sweep;
  const Referee referee(settings);
  try {
    REQUIRE_FALSE(referee.compile(doubling(), gpu_candidates()[0].candidate).failure.has_value());
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::compiler_missing);
    WARN("skipped: NVRTC was not found; OUROBOROS_NVRTC can name its folder");
    return;
  }
  judge_all(referee, gpu_candidates());
}
