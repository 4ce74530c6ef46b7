#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "ouroboros/candidate.hpp"
#include "ouroboros/dtype.hpp"
#include "ouroboros/error.hpp"

namespace fs = std::filesystem;
using namespace ouroboros;

namespace {

// A folder of this test's own that goes away with it.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "ouroboros-test-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string io_message_of(const fs::path& path) {
  try {
    static_cast<void>(Candidate::from_file(path));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::io);
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("dtype names, sizes and kinds") {
  struct Row {
    DType dtype;
    std::string_view name;
    std::size_t size;
    bool floating;
  };
  const std::vector<Row> rows = {{DType::float16, "float16", 2, true},
                                 {DType::float32, "float32", 4, true},
                                 {DType::float64, "float64", 8, true},
                                 {DType::int32, "int32", 4, false},
                                 {DType::int64, "int64", 8, false},
                                 {DType::int8, "int8", 1, false},
                                 {DType::uint8, "uint8", 1, false},
                                 {DType::boolean, "bool", 1, false},
                                 {DType::float8_e4m3fn, "float8_e4m3fn", 1, true},
                                 {DType::float8_e5m2, "float8_e5m2", 1, true}};
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(to_string(row.dtype) == row.name);
    CHECK(parse_dtype(row.name) == row.dtype);
    CHECK(size_of(row.dtype) == row.size);
    CHECK(is_floating(row.dtype) == row.floating);
  }
  CHECK_FALSE(parse_dtype("float").has_value());
  CHECK_FALSE(parse_dtype("Float32").has_value());
  CHECK_FALSE(parse_dtype("").has_value());
}

TEST_CASE("a dtype from unchecked bytes is unknown and has no size") {
  const auto bogus = static_cast<DType>(200);
  CHECK(to_string(bogus) == "unknown");
  CHECK(size_of(bogus) == 0);
  CHECK_FALSE(is_floating(bogus));
}

TEST_CASE("an error carries its code, its sentence and where it was thrown") {
  const Error error(ErrorCode::not_found, "No problem is called 'sofmax'.");
  CHECK(error.code() == ErrorCode::not_found);
  CHECK(std::string(error.what()) == "No problem is called 'sofmax'.");
  CHECK(contains(error.where().file_name(), "test_base.cpp"));
}

TEST_CASE("error codes have distinct names") {
  std::vector<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::internal); ++code) {
    names.push_back(to_string(static_cast<ErrorCode>(code)));
  }
  CHECK(names.size() == 11);
  CHECK(names.front() == "invalid_argument");
  CHECK(names.back() == "internal");
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  CHECK(std::find(names.begin(), names.end(), "unknown") == names.end());
}

TEST_CASE("a candidate is read from a file byte for byte") {
  const Folder folder;
  const fs::path path = folder.path() / "kernel.cpp";
  const std::string bytes = std::string("line\r\n\0\xff", 8) + "end";
  std::ofstream(path, std::ios::binary) << bytes;

  const Candidate candidate = Candidate::from_file(path);
  CHECK(candidate.source == bytes);
  CHECK(candidate.name == "kernel.cpp");
  CHECK(candidate.language == "cpp");
}

TEST_CASE("an empty file is a candidate; judging it is the referee's affair") {
  const Folder folder;
  const fs::path path = folder.path() / "empty.cpp";
  std::ofstream(path).flush();
  CHECK(Candidate::from_file(path).source.empty());
}

TEST_CASE("what is no readable file is refused with a sentence") {
  const Folder folder;
  const std::string missing = io_message_of(folder.path() / "missing.cpp");
  CHECK(contains(missing, "missing.cpp"));
  CHECK(contains(missing, "does not exist"));
  CHECK(contains(io_message_of(folder.path()), "a directory"));
  // Opening a device or a pipe could block for ever.
  CHECK(contains(io_message_of("/dev/zero"), "not a regular file"));
}
