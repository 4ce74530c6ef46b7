// Compilation in a sandbox: what a source, a compiler or a scratch folder can and cannot do.

#include <sys/mount.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "catch.hpp"
#include "compile/compiler.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/executor.hpp"
#include "processes.hpp"

using namespace ouroboros;

namespace {

const std::string honest = "extern \"C\" int run_float32() { return 42; }\n";

compile::Output compiled(const std::string& source, const compile::Settings& settings = {}) {
  return compile::compile_cpp(source, "", settings);
}

/// The code of the error that compiling `honest` throws.
std::string error_of(const compile::Settings& settings) {
  try {
    (void)compiled(honest, settings);
  } catch (const Error& error) {
    UNSCOPED_INFO(error.what());
    return std::string(to_string(error.code()));
  }
  return "none";
}

/// A shell script in the place of a compiler, with a scratch folder for its use.
class Script {
 public:
  explicit Script(const std::string& body, const std::string& version = "echo script 1.0") {
    const auto bin = folder_.path() / "bin";
    std::filesystem::create_directory(bin);
    settings.compiler = (bin / "c++").string();
    std::ofstream(settings.compiler)
        << "#!/bin/sh\nif [ \"$1\" = --version ]; then " << version << "; exit 0; fi\n"
        << body << '\n';
    chmod(settings.compiler.c_str(), 0755);
    settings.scratch = scratch.path();
  }

  [[nodiscard]] compile::Output run() const { return compiled(honest, settings); }

  compile::Settings settings;
  ouroboros_test::Folder scratch;

 private:
  ouroboros_test::Folder folder_;
};

bool without_landlock() {
  static const bool none = probe_isolation().landlock_abi == 0;
  if (none) WARN("skipped: this machine has no Landlock");
  return none;
}

}  // namespace

TEST_CASE("a source becomes a module with its record") {
  const auto output = compiled(honest);
  INFO(output.record.log);
  REQUIRE(output.result == compile::Result::compiled);
  REQUIRE(output.image.bytes.size() > 4);
  CHECK(std::memcmp(output.image.bytes.data(),
                    "\x7f"
                    "ELF",
                    4) == 0);
  CHECK(output.image.sha256 == sha256_hex(output.image.bytes.data(), output.image.bytes.size()));
  CHECK(output.record.image_sha256 == output.image.sha256);
  CHECK(output.record.image_bytes == static_cast<std::int64_t>(output.image.bytes.size()));
  CHECK((output.record.ran && output.record.succeeded));
  CHECK_FALSE(output.record.compiler.empty());
  CHECK(output.record.duration_ms > 0);
  CHECK(output.record.log.empty());
  // Where it was compiled must not show in what comes out.
  CHECK(compiled(honest).image.sha256 == output.image.sha256);
}

TEST_CASE("diagnostics name the source and not the folder") {
  const ouroboros_test::Folder scratch;
  compile::Settings settings;
  settings.scratch = scratch.path();
  const auto output = compiled("#warning careful\nint f() { return nothing; }\n", settings);
  CHECK(output.result == compile::Result::failed);
  CHECK(output.image.bytes.empty());
  CHECK_FALSE(output.record.succeeded);
  CHECK_THAT(output.record.log,
             ContainsSubstring("candidate.cpp:2") && ContainsSubstring("nothing"));
  CHECK_THAT(output.record.log, !ContainsSubstring(scratch.path().filename().string()));
  CHECK(scratch.empty());
}

TEST_CASE("the prelude is compiled before the source") {
  const std::string prototype = "extern \"C\" void run_float32(const float* x, float* out);\n";
  const auto wrong = compile::compile_cpp(
      "extern \"C\" int run_float32(const double* x) { return 0; }\n", prototype, {});
  CHECK(wrong.result == compile::Result::failed);
  CHECK_THAT(wrong.record.log,
             ContainsSubstring("conflicting") && ContainsSubstring("run_float32"));
}

TEST_CASE("no source reads a file outside") {
  if (without_landlock()) return;
  const ouroboros_test::Folder folder;
  const auto secret = (folder.path() / "secret").string();
  std::ofstream(secret) << "hunter2\n";
  for (const std::string& path : {secret, std::string("/etc/passwd")}) {
    for (const auto& source :
         {"#include \"" + path + "\"\n", "asm(\".incbin \\\"" + path + "\\\"\");\n" + honest,
          "#if __has_include(\"" + path + "\")\n#include \"" + path +
              "\"\n#endif\n#error none\n"}) {
      const auto output = compiled(source);
      CAPTURE(source, output.record.log);
      CHECK(output.result == compile::Result::failed);
      CHECK_THAT(output.record.log, !ContainsSubstring("hunter2") && !ContainsSubstring("root:"));
    }
  }
}

TEST_CASE("a compiler that takes too long is stopped") {
  const ouroboros_test::Folder scratch;
  compile::Settings settings;
  settings.scratch = scratch.path();
  settings.limits.compile_seconds = 0.5;
  const auto output = compiled(
      "template <int D, int I> struct B {\n"
      "  static constexpr long v = B<D - 1, 2 * I>::v + B<D - 1, 2 * I + 1>::v;\n};\n"
      "template <int I> struct B<0, I> { static constexpr long v = I; };\n"
      "long f() { return B<24, 0>::v; }\n",
      settings);
  CHECK(output.result == compile::Result::timed_out);
  CHECK(output.image.bytes.empty());
  CHECK(scratch.empty());
  CHECK(ouroboros_test::has_no_children());
}

TEST_CASE("a compiler that needs too much memory fails") {
  compile::Settings settings;
  settings.limits.compile_memory_mib = 96;
  CHECK(compiled(honest, settings).result == compile::Result::compiled);
  const auto output = compiled("#include <regex>\n" + honest, settings);
  CAPTURE(output.record.log);
  CHECK(output.result == compile::Result::failed);
}

TEST_CASE("a module that is too large fails") {
  compile::Settings settings;
  settings.limits.image_mib = 1;
  const std::string table = "char table[4 << 20] = {1};\n";
  CHECK(compiled(table + honest).result == compile::Result::compiled);
  const auto output = compiled(table + honest, settings);
  CAPTURE(output.record.log);
  CHECK(output.result == compile::Result::failed);
}

TEST_CASE("the log is bounded") {
  compile::Settings settings;
  settings.limits.log_kib = 4;
  std::string source;
  for (int i = 0; i < 200; ++i) {
    source += "int f" + std::to_string(i) + "() { return missing" + std::to_string(i) + "; }\n";
  }
  const auto output = compiled(source, settings);
  CHECK(output.result == compile::Result::failed);
  CHECK(output.record.log.size() <= 4096);
  CHECK(output.record.log.size() > 2048);
}

TEST_CASE("a compiler gets no environment of this process") {
  setenv("OUROBOROS_TEST_SECRET", "hunter2", 1);
  const auto output = Script("env; exit 1").run();
  unsetenv("OUROBOROS_TEST_SECRET");
  CHECK(output.result == compile::Result::failed);
  CHECK_THAT(output.record.log, !ContainsSubstring("hunter2") && ContainsSubstring("LC_ALL=C"));
}

TEST_CASE("a compiler has no network") {
  const auto output = Script("readlink /proc/self/ns/net; exit 1").run();
  const auto isolation = probe_isolation();
  const auto& namespaces = isolation.namespaces;
  if (std::find(namespaces.begin(), namespaces.end(), "net") == namespaces.end()) {
    WARN("skipped: this machine gives no network namespace");
    return;
  }
  CHECK_THAT(output.record.log, ContainsSubstring("net:["));
  CHECK_THAT(output.record.log,
             !ContainsSubstring(std::filesystem::read_symlink("/proc/self/ns/net").string()));
}

TEST_CASE("what a compiler leaves running ends with it") {
  Script script("sleep 1000 & echo done; exit 1");
  const auto output = script.run();
  // Waiting for the sleeper would be a time-out.
  CHECK(output.result == compile::Result::failed);
  CHECK(output.record.log == "done\n");
  CHECK(script.scratch.empty());
  CHECK(ouroboros_test::has_no_children());
}

TEST_CASE("a compiler that says yes and leaves no module has failed") {
  for (const char* body : {"exit 0", "ln -s /etc/passwd candidate.so", "mkdir candidate.so",
                           "mkfifo candidate.so", ": > candidate.so"}) {
    const Script script(body);
    const auto output = script.run();
    CAPTURE(body);
    CHECK(output.result == compile::Result::failed);
    CHECK(output.image.bytes.empty());
    CHECK_FALSE(output.record.log.empty());
    CHECK(script.scratch.empty());
  }
}

TEST_CASE("a compiler that is none is the machine's fault") {
  compile::Settings settings;
  settings.compiler = "/nonexistent";
  CHECK(error_of(settings) == "compiler_missing");
  CHECK_THROWS_WITH(compile::find_compiler("/nonexistent"), ContainsSubstring("/nonexistent"));
  CHECK_THROWS_WITH(compile::find_compiler("no-such-compiler"),
                    ContainsSubstring("no-such-compiler"));
  CHECK(error_of(Script("exit 1", "true").settings) == "compiler_missing");
}

TEST_CASE("a scratch folder that cannot be used is the machine's fault") {
  compile::Settings settings;
  settings.scratch = "/nonexistent/folder";
  CHECK(error_of(settings) == "io");
  settings.scratch = "/proc/version";  // Not a folder.
  CHECK(error_of(settings) == "io");
}

TEST_CASE("a read-only scratch folder is the machine's fault") {
  const ouroboros_test::Mount read_only(MS_RDONLY);
  if (!read_only.mounted()) {
    WARN("skipped: only root may mount a read-only file system");
    return;
  }
  compile::Settings settings;
  settings.scratch = read_only.path();
  CHECK(error_of(settings) == "io");
}

TEST_CASE("a full scratch folder is the machine's fault") {
  const ouroboros_test::Mount small(0);
  if (!small.mounted()) {
    WARN("skipped: only root may mount a small file system");
    return;
  }
  compile::Settings settings;
  settings.scratch = small.path();
  CHECK(error_of(settings) == "io");
  CHECK(std::filesystem::is_empty(small.path()));
}

TEST_CASE("a cancelled compilation leaves nothing") {
  const ouroboros_test::Folder scratch;
  compile::Settings settings;
  settings.scratch = scratch.path();
  (void)compiled(honest, settings);
  const auto before = ouroboros_test::open_descriptors();
  settings.cancelled = [] { return true; };
  CHECK(error_of(settings) == "cancelled");
  CHECK(scratch.empty());
  CHECK(ouroboros_test::open_descriptors() == before);
  CHECK(ouroboros_test::has_no_children());
}

TEST_CASE("compilations are told apart in a program that ignores its children's ends") {
  const ouroboros_test::IgnoredChildren ignored;
  CHECK(compiled(honest).result == compile::Result::compiled);
  CHECK(compiled("nonsense").result == compile::Result::failed);
}
