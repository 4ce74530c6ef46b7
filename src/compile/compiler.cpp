#include "compile/compiler.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string_view>

#include "compile/child.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::compile {
namespace {

using Clock = std::chrono::steady_clock;

// -nodefaultlibs: libraries are the executor's, found by its loader; the compiler's start files
// stay, because they end the unwind tables. -lgcc: arithmetic that the processor lacks (float16
// conversions on older ones). The rest keeps the module to what the loader accepts.
const std::vector<std::string> flags = {"-std=c++20",
                                        "-O3",
                                        "-march=native",
                                        "-fPIC",
                                        "-shared",
                                        "-nodefaultlibs",
                                        "-fno-gnu-unique",
                                        "-fdiagnostics-color=never",
                                        "-Wl,-z,now,-z,noexecstack,-z,text,--hash-style=both",
                                        "-Wl,-Bsymbolic"};

// A driver tells its end by the text alone when something outside killed one of its programs. A
// source can print the same, and gains by it that it is compiled again.
constexpr int attempts = 3;
constexpr std::string_view killed = "Killed";

std::string version_of(const std::filesystem::path& compiler, const ScratchFolder& scratch,
                       const Settings& settings) {
  auto request = sandboxed(compiler, scratch, settings.limits);
  request.command.emplace_back("--version");
  auto version = version_line(std::move(request), settings.limits, settings.cancelled);
  if (version.empty()) {
    throw Error(ErrorCode::compiler_missing,
                compiler.string() +
                    " does not answer to --version: name a C++ compiler in "
                    "Options::compiler or CXX");
  }
  return version;
}

}  // namespace

Output compile_cpp(const std::string& source, const std::string& prelude,
                   const Settings& settings) {
  const auto compiler = find_compiler(settings.compiler);
  const ScratchFolder scratch(settings.scratch);
  scratch.require_space(static_cast<std::uint64_t>(settings.limits.image_mib) * mib);
  scratch.write("prelude.hpp", prelude);
  scratch.write("candidate.cpp", source);

  Output output;
  output.record.ran = true;
  output.record.compiler = version_of(compiler, scratch, settings);
  output.record.flags = flags;

  auto request = sandboxed(compiler, scratch, settings.limits);
  request.command.insert(request.command.end(), flags.begin(), flags.end());
  for (const char* argument :
       {"-include", "prelude.hpp", "candidate.cpp", "-lgcc", "-o", "candidate.so"}) {
    request.command.emplace_back(argument);
  }
  std::optional<sandbox::Exit> exit;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    output.record.log.clear();
    const auto start = Clock::now();
    exit = run(request, settings.limits.compile_seconds,
               static_cast<std::size_t>(settings.limits.log_kib) * kib, settings.cancelled,
               output.record.log);
    output.record.duration_ms =
        std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    if (!exit || exit->code == 0 || output.record.log.find(killed) == std::string::npos) {
      break;
    }
  }
  output.record.log = without_folder(std::move(output.record.log), scratch.path());
  if (!exit) {
    output.result = Result::timed_out;
    return output;
  }
  if (exit->signal == 0 && exit->code == 0) {
    output.image.bytes = read_image(scratch.path() / "candidate.so",
                                    static_cast<std::uint64_t>(settings.limits.image_mib) * mib);
  }
  if (output.image.bytes.empty()) {
    // Where others have filled the disk meanwhile, that is why.
    scratch.require_space(static_cast<std::uint64_t>(settings.limits.image_mib) * mib);
    if (output.record.log.empty()) {
      output.record.log = fmt::format("the compiler ended with status {} (signal {}) and no word",
                                      exit->code, exit->signal);
    }
    return output;
  }
  output.image.sha256 = sha256_hex(output.image.bytes.data(), output.image.bytes.size());
  output.record.succeeded = true;
  output.record.image_bytes = static_cast<std::int64_t>(output.image.bytes.size());
  output.record.image_sha256 = output.image.sha256;
  output.result = Result::compiled;
  return output;
}

}  // namespace ouroboros::compile
