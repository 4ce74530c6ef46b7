// What goes on beside what on a GPU. The lock files are real, the GPU is not needed.

#include <fcntl.h>
#include <sys/file.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "ouroboros/error.hpp"
#include "processes.hpp"
#include "referee/device/company.hpp"
#include "referee/device/gpu_lock.hpp"

using namespace ouroboros;
using referee::device::GpuUse;
using referee::device::lock_gpu;

namespace {

/// Temporary files of this test lie in a folder of their own.
class OwnTemporaryFolder {
 public:
  OwnTemporaryFolder() { setenv("TMPDIR", folder_.path().c_str(), 1); }
  ~OwnTemporaryFolder() {
    before_ ? setenv("TMPDIR", before_->c_str(), 1) : unsetenv("TMPDIR");
    for (const char* suffix : {"lock", "queue", "replays"}) {
      std::filesystem::remove(folder_.path() / (std::string("ouroboros-gpu-3.") + suffix));
    }
  }
  OwnTemporaryFolder(const OwnTemporaryFolder&) = delete;
  OwnTemporaryFolder& operator=(const OwnTemporaryFolder&) = delete;

  /// Whether somebody holds the queue, which only those do that wait.
  [[nodiscard]] bool somebody_waits() const {
    const auto path = folder_.path() / "ouroboros-gpu-3.queue";
    const sandbox::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return file && flock(file.get(), LOCK_EX | LOCK_NB) != 0;
  }

 private:
  static std::optional<std::string> before() {
    const char* value = std::getenv("TMPDIR");
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }

  std::optional<std::string> before_ = before();
  ouroboros_test::Folder folder_;
};

Options on_gpu(std::function<bool()> cancelled = {}) {
  Options options;
  options.device.ordinal = 3;
  options.cancelled = std::move(cancelled);
  return options;
}

/// Whether it is kept out: it would wait, and gives up when it is first asked whether to go on.
bool is_kept_out(GpuUse use) {
  try {
    return !lock_gpu(on_gpu([] { return true; }), use).gpu;
  } catch (const Error& error) {
    return error.code() == ErrorCode::cancelled;
  }
}

}  // namespace

TEST_CASE("what may go on beside each other on a GPU") {
  const OwnTemporaryFolder folder;
  {
    const auto trace = lock_gpu(on_gpu(), GpuUse::trace);
    REQUIRE(trace);
    CHECK_FALSE(is_kept_out(GpuUse::trace));
    CHECK_FALSE(is_kept_out(GpuUse::replay));
    CHECK(is_kept_out(GpuUse::time));
  }
  {
    const auto replay = lock_gpu(on_gpu(), GpuUse::replay);
    REQUIRE(replay);
    CHECK_FALSE(is_kept_out(GpuUse::trace));
    CHECK(is_kept_out(GpuUse::replay));
    CHECK(is_kept_out(GpuUse::time));
  }
  const auto time = lock_gpu(on_gpu(), GpuUse::time);
  REQUIRE(time);
  CHECK(is_kept_out(GpuUse::trace));
  CHECK(is_kept_out(GpuUse::replay));
  CHECK(is_kept_out(GpuUse::time));
}

TEST_CASE("who waits to time on a GPU lets nobody else in") {
  const OwnTemporaryFolder folder;
  auto trace = lock_gpu(on_gpu(), GpuUse::trace);
  REQUIRE(trace);
  std::atomic<bool> asked = false;
  auto time = std::async(std::launch::async, [&] {
    return lock_gpu(on_gpu([&] {
                      asked = true;
                      return false;
                    }),
                    GpuUse::time);
  });
  while (!asked) std::this_thread::yield();  // It is asked when it has to wait.
  CHECK(folder.somebody_waits());
  CHECK(is_kept_out(GpuUse::trace));
  trace.gpu.reset();
  const auto held = time.get();
  CHECK(held);
  CHECK_FALSE(folder.somebody_waits());
  CHECK(is_kept_out(GpuUse::trace));
}

TEST_CASE("where there can be no lock files nobody is kept out") {
  const OwnTemporaryFolder folder;
  std::filesystem::create_directory(std::filesystem::temp_directory_path() /
                                    "ouroboros-gpu-3.lock");
  CHECK_FALSE(lock_gpu(on_gpu(), GpuUse::time));
}

TEST_CASE("a sweep that others may have disturbed is made once more without them") {
  using Sweep = std::function<SweepOutcome(GpuUse)>;
  // What it finds beside others; alone it finds nothing wrong.
  const auto uses = [](const Sweep& beside_others) {
    std::vector<GpuUse> asked;
    const auto outcome = referee::device::beside_others([&](GpuUse use) {
      asked.push_back(use);
      return use == GpuUse::replay ? beside_others(use) : SweepOutcome{};
    });
    CHECK(outcome.failure.has_value() == (asked.size() == 1 && beside_others(asked[0]).failure));
    return asked.size();
  };
  const auto failing = [](const std::string& kind) {
    return [kind](GpuUse) {
      SweepOutcome outcome;
      outcome.failure = Status::runtime_error;
      outcome.findings.push_back({kind, "error", "sweep", ""});
      return outcome;
    };
  };
  const auto throwing = [](ErrorCode code) {
    return [code](GpuUse) -> SweepOutcome { throw Error(code, "so it is"); };
  };
  CHECK(uses([](GpuUse) { return SweepOutcome{}; }) == 1);
  CHECK(uses(failing("wrong_values")) == 1);
  CHECK(uses(failing("out_of_memory")) == 2);
  CHECK(uses(failing("load_failed")) == 2);
  CHECK(uses(failing("timeout")) == 2);
  CHECK(uses(throwing(ErrorCode::out_of_memory)) == 2);
  CHECK_THROWS_AS(uses(throwing(ErrorCode::executor_lost)), Error);
}
