// Sandboxed processes: how they end, what they inherit, what they may touch, and that nothing of
// them stays.

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "catch.hpp"
#include "ouroboros/error.hpp"
#include "processes.hpp"
#include "sandbox/process.hpp"

using namespace ouroboros;
using namespace std::chrono_literals;

namespace {

sandbox::Request shell(const std::string& script, bool pid_namespace = false) {
  sandbox::Request request;
  request.command = {"/bin/sh", "-c", script};
  request.environment = {"PATH=/usr/bin:/bin"};
  request.readable = sandbox::system_folders();
  request.readable.emplace_back("/proc");
  request.writable = {"/dev/null"};
  request.pid_namespace = pid_namespace;
  return request;
}

/// A process whose output this one reads.
class Running {
 public:
  explicit Running(sandbox::Request request) {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    output_ = sandbox::Descriptor(ends[0]);
    const sandbox::Descriptor input(ends[1]);
    request.descriptors = {{input.get(), 1}, {input.get(), 2}};
    process.emplace(request);
  }

  /// One line of output; empty at its end, which comes when the last descendant is gone, and when
  /// nothing comes for so long that the test has failed.
  std::string line() {
    std::string text;
    char letter = 0;
    for (;;) {
      pollfd ready{output_.get(), POLLIN, 0};
      ended_ = poll(&ready, 1, 20'000) == 1 && read(output_.get(), &letter, 1) == 0;
      if (ended_ || ready.revents == 0 || letter == '\n') return text;
      text += letter;
    }
  }

  [[nodiscard]] bool at_end() {
    line();
    return ended_;
  }

  std::optional<sandbox::Process> process;

 private:
  sandbox::Descriptor output_;
  bool ended_ = false;
};

sandbox::Exit exit_of(const std::string& script, bool pid_namespace = false) {
  sandbox::Process process(shell(script, pid_namespace));
  const auto exit = process.wait(20s);
  REQUIRE(exit.has_value());
  return *exit;
}

std::string first_line(const std::string& script) { return Running(shell(script)).line(); }

}  // namespace

TEST_CASE("the way in which a process ended is known") {
  for (const bool own_pids : {false, true}) {
    CHECK(exit_of("exit 0", own_pids).code == 0);
    CHECK(exit_of("exit 7", own_pids).code == 7);
    CHECK(exit_of("exit 7", own_pids).signal == 0);
  }
  CHECK(exit_of("kill -9 $$").signal == SIGKILL);
  CHECK(exit_of("kill -11 $$").signal == SIGSEGV);
}

TEST_CASE("waiting for a process that goes on gives nothing, and it can be killed") {
  sandbox::Process process(shell("while :; do :; done"));
  CHECK_FALSE(process.wait(1ms).has_value());
  process.kill();
  REQUIRE(process.wait(0s).has_value());
  CHECK(process.wait(0s)->signal == SIGKILL);
  CHECK(ouroboros_test::has_no_children());
}

TEST_CASE("a program is killed with everything that it started") {
  Running group(shell("sleep 1000 & sleep 1000 & echo started; wait"));
  REQUIRE(group.line() == "started");
  group.process->kill();
  CHECK(group.at_end());

  const auto request = shell("setsid sleep 1000 & setsid sleep 1000 & echo started; wait", true);
  Running escaped(request);
  REQUIRE(escaped.line() == "started");
  const auto& namespaces = escaped.process->isolation().namespaces;
  if (std::find(namespaces.begin(), namespaces.end(), "pid") == namespaces.end()) {
    WARN("skipped: this machine gives no pid namespace");
    return;
  }
  escaped.process->kill();
  CHECK(escaped.at_end());
}

TEST_CASE("what a program leaves running ends with it") {
  Running left(shell("sleep 1000 & echo started"));
  REQUIRE(left.line() == "started");
  REQUIRE(left.process->wait(20s).has_value());
  CHECK(left.at_end());
}

TEST_CASE("nothing is inherited but what was given") {
  setenv("OUROBOROS_TEST_SECRET", "hunter2", 1);
  const int extra = fcntl(0, F_DUPFD, 77);
  CHECK(first_line("echo \"[$OUROBOROS_TEST_SECRET]\"") == "[]");
  CHECK(first_line("test -e /proc/self/fd/" + std::to_string(extra) + " && echo open || echo no") ==
        "no");
  if (extra >= 0) close(extra);
  unsetenv("OUROBOROS_TEST_SECRET");
}

TEST_CASE("limits are in force") {
  auto request = shell("ulimit -n; ulimit -s; ulimit -v; ulimit -c");
  request.limits = {
      {"open_files", 33}, {"stack", 1 << 20}, {"address_space", std::uint64_t{1} << 30}};
  Running limited(request);
  CHECK(limited.line() == "33");
  CHECK(limited.line() == "1024");
  CHECK(limited.line() == std::to_string(1 << 20));
  CHECK(limited.line() == "0");
  CHECK(limited.process->isolation().resource_limits);

  auto unknown = shell("exit 0");
  unknown.limits = {{"patience", 1}};
  CHECK_THROWS_WITH(sandbox::Process(unknown), ContainsSubstring("patience"));
}

TEST_CASE("processes are limited where a user namespace counts them") {
  auto request = shell("sleep 9 & sleep 9 & sleep 9 & sleep 9 & sleep 9 & wait", true);
  request.limits = {{"processes", 3}};
  Running crowded(request);
  const auto& namespaces = crowded.process->isolation().namespaces;
  if (geteuid() == 0 ||
      std::find(namespaces.begin(), namespaces.end(), "user") == namespaces.end()) {
    WARN("skipped: root is exempt, and without a user namespace all of a user's processes count");
    return;
  }
  CHECK_THAT(crowded.line(), ContainsSubstring("fork"));
}

TEST_CASE("the file system is closed but for what was opened") {
  const ouroboros_test::Folder folder;
  const auto secret = folder.path() / "secret";
  std::ofstream(secret) << "hunter2\n";
  auto request = shell("cat " + secret.string() + " 2>/dev/null || echo refused; echo > " +
                       secret.string() + " && echo written || echo refused");
  Running closed(request);
  if (closed.process->isolation().landlock_abi == 0) {
    WARN("skipped: this machine has no Landlock");
    return;
  }
  CHECK(closed.line() == "refused");
  closed.line();  // The shell's own complaint.
  CHECK(closed.line() == "refused");

  request.readable.push_back(folder.path());
  Running readable(request);
  CHECK(readable.line() == "hunter2");
  readable.line();
  CHECK(readable.line() == "refused");

  request.writable.push_back(folder.path());
  Running writable(request);
  CHECK(writable.line() == "hunter2");
  CHECK(writable.line() == "written");
}

TEST_CASE("the report of the isolation says what there is") {
  for (const std::string name : {"user", "net", "ipc", "uts"}) {
    const std::string file = "/proc/self/ns/" + name;
    Running process(shell("readlink " + file));
    const auto& namespaces = process.process->isolation().namespaces;
    const bool claimed = std::find(namespaces.begin(), namespaces.end(), name) != namespaces.end();
    const bool own = process.line() != std::filesystem::read_symlink(file).string();
    CAPTURE(name);
    CHECK(claimed == own);
  }
  const auto isolation = probe_isolation();
  CHECK(isolation.no_new_privileges);
  CHECK(isolation.process_group);
  CHECK(isolation.runs_as_root == (geteuid() == 0));
  CHECK(isolation.level == (isolation.missing.empty() ? "sandboxed" : "degraded"));
  CHECK((isolation.landlock_abi > 0 || !isolation.missing.empty()));
  CHECK(first_line("grep NoNewPrivs /proc/self/status | tr -d '[:space:]'") == "NoNewPrivs:1");
}

TEST_CASE("a program that does not exist is named") {
  auto request = shell("");
  request.command = {"/nonexistent/program"};
  CHECK_THROWS_WITH(sandbox::Process(request), ContainsSubstring("/nonexistent/program"));
  CHECK(ouroboros_test::has_no_children());
}

TEST_CASE("a helper that does not exist is named, with the folders") {
  CHECK_THROWS_WITH(sandbox::find_helper("ouroboros-none"),
                    ContainsSubstring("ouroboros-none") && ContainsSubstring("OUROBOROS_LIBEXEC"));
}

TEST_CASE("processes leave nothing behind in this one") {
  exit_of("exit 0");
  const auto before = ouroboros_test::open_descriptors();
  for (int i = 0; i < 8; ++i) {
    exit_of("sleep 1000 & exit 3", i % 2 == 0);
    const sandbox::Process dropped(shell("sleep 1000"));
  }
  CHECK(ouroboros_test::open_descriptors() == before);
  CHECK(ouroboros_test::has_no_children());
}

TEST_CASE("a program that ignores its children's ends still has sandboxes") {
  const ouroboros_test::IgnoredChildren ignored;
  const auto exit = exit_of("exit 7");
  // Before Linux 6.15 nobody can tell; then the record has to say so.
  CHECK((!exit.known || exit.code == 7));
  const auto killed = exit_of("kill -9 $$");
  CHECK((!killed.known || killed.signal == SIGKILL));
  sandbox::Process process(shell("while :; do :; done"));
  process.kill();
  CHECK(ouroboros_test::children("sh").empty());
}
