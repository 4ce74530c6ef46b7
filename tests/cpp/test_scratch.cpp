// Scratch folders: theirs who live stay, and those of the dead go.

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>

#include "catch.hpp"
#include "ouroboros/error.hpp"
#include "processes.hpp"
#include "sandbox/scratch.hpp"

using namespace ouroboros;
namespace fs = std::filesystem;

namespace {

/// Makes a folder look as if nobody had changed it for so long.
void age(const fs::path& folder, std::chrono::minutes by) {
  fs::last_write_time(folder, fs::file_time_type::clock::now() - by);
}

fs::path folder_in(const fs::path& parent, const char* name) {
  fs::create_directory(parent / name);
  std::ofstream(parent / name / "file") << "text";
  return parent / name;
}

}  // namespace

TEST_CASE("a scratch folder goes with what is in it") {
  const ouroboros_test::Folder parent;
  {
    const sandbox::Scratch scratch(parent.path(), "nothing");
    CHECK(scratch.path().parent_path() == fs::canonical(parent.path()));
    std::ofstream(scratch.path() / "file") << "text";
  }
  CHECK(parent.empty());
}

TEST_CASE("a scratch folder that cannot be made says what to set") {
  CHECK_THROWS_WITH(sandbox::Scratch("/nonexistent", "Options::scratch"),
                    ContainsSubstring("point Options::scratch or TMPDIR to a writable folder"));
}

TEST_CASE("scratch folders of processes that were killed go, and nothing else") {
  using std::chrono::minutes;
  const ouroboros_test::Folder parent;
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t killed = fork();
  REQUIRE(killed >= 0);
  if (killed == 0) {
    const sandbox::Scratch scratch(parent.path(), "nothing");
    const auto name = scratch.path().filename().string();
    static_cast<void>(write(ready[1], name.data(), name.size()));
    pause();
  }
  char name[17] = {};
  REQUIRE(read(ready[0], name, 16) == 16);
  const auto left = parent.path() / name;
  std::ofstream(left / "file") << "text";
  age(left, minutes{60});

  // As long as it lives the folder is its own, however old it looks.
  sandbox::remove_abandoned(parent.path());
  CHECK(fs::exists(left));
  kill(killed, SIGKILL);
  waitpid(killed, nullptr, 0);

  const auto young = folder_in(parent.path(), "ouroboros-Young1");
  const auto other = folder_in(parent.path(), "ouroboros-other-thing");
  age(other, minutes{60});
  const ouroboros_test::Folder elsewhere;
  age(elsewhere.path(), minutes{60});
  fs::create_directory_symlink(elsewhere.path(), parent.path() / "ouroboros-AbCdEf");
  const sandbox::Scratch own(parent.path(), "nothing");
  age(own.path(), minutes{60});

  sandbox::remove_abandoned(parent.path());
  CHECK_FALSE(fs::exists(left));
  CHECK(fs::exists(young / "file"));
  CHECK(fs::exists(other / "file"));
  CHECK(fs::exists(elsewhere.path()));
  CHECK(fs::exists(own.path()));
  close(ready[0]);
  close(ready[1]);
}
