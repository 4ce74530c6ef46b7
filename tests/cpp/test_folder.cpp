// Folders that hostile programs leave: whatever is in them is read and removed.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "catch.hpp"
#include "ouroboros/error.hpp"
#include "processes.hpp"
#include "sandbox/folder.hpp"

using namespace ouroboros;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

TEST_CASE("a folder's names and bytes") {
  const ouroboros_test::Folder folder;
  write(folder.path() / "a", "123");
  fs::create_directories(folder.path() / "b/c");
  write(folder.path() / "b/c/d", "4567");
  fs::create_symlink("/usr", folder.path() / "link");
  auto names = sandbox::names_in(folder.path());
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"a", "b", "link"});
  CHECK(sandbox::bytes_below(folder.path()) == 7);
  CHECK(sandbox::names_in(folder.path() / "nowhere").empty());
  CHECK(sandbox::bytes_below(folder.path() / "nowhere") == 0);
}

TEST_CASE("more names than one reading gives are all found and removed") {
  const ouroboros_test::Folder folder;
  const auto scratch = folder.path() / "scratch";
  fs::create_directory(scratch);
  constexpr std::size_t count = 2000;
  for (std::size_t i = 0; i < count; ++i) {
    write(scratch / ("a file with a long name, number " + std::to_string(i)), "");
  }
  CHECK(sandbox::names_in(scratch).size() == count);
  sandbox::remove_tree(scratch);
  CHECK(folder.empty());
}

TEST_CASE("a tree deeper than any path, with folders closed to their owner, is removed") {
  const ouroboros_test::Folder folder;
  const auto scratch = folder.path() / "scratch";
  fs::create_directory(scratch);
  const auto before = ouroboros_test::open_descriptors();
  int at = open(scratch.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int depth = 0; depth < 3000; ++depth) {
    // Names that the removal uses too.
    REQUIRE(mkdirat(at, ".lifted-1", 0700) == 0);
    const int file = openat(at, ".lifted-0", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(file >= 0);
    close(file);
    const int next = openat(at, ".lifted-1", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(next >= 0);
    if (depth % 100 == 0) {
      REQUIRE(fchmod(at, 0) == 0);
    }
    close(at);
    at = next;
  }
  close(at);
  sandbox::remove_tree(scratch);
  CHECK(folder.empty());
  CHECK(ouroboros_test::open_descriptors() == before);
}

TEST_CASE("links are removed, and not what they point to") {
  const ouroboros_test::Folder folder;
  const ouroboros_test::Folder other;
  write(other.path() / "kept", "text");
  const auto scratch = folder.path() / "scratch";
  fs::create_directory(scratch);
  fs::create_directory_symlink(other.path(), scratch / "folder");
  fs::create_directory(scratch / "below");
  fs::create_directory_symlink(other.path(), scratch / "below/folder");
  REQUIRE(chmod(other.path().c_str(), 0500) == 0);
  sandbox::remove_tree(scratch);
  CHECK(folder.empty());
  CHECK(fs::exists(other.path() / "kept"));
  struct stat status{};
  REQUIRE(stat(other.path().c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0500);
  chmod(other.path().c_str(), 0700);
}
