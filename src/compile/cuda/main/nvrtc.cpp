#include <algorithm>
#include <filesystem>
#include <string_view>

#include "compile/cuda/main/exit_code.hpp"
#include "compile/cuda/main/library.hpp"
#include "compile/cuda/main/standard_headers.hpp"

namespace ouroboros::cuda {
namespace {

// nvrtc.h, as far as it is needed: the numbers and types have not changed since CUDA 11.
using Result = int;
using Program = void*;
constexpr Result success = 0;
constexpr Result invalid_option = 5;
constexpr Result compilation_failed = 6;

/// Options for NVRTC: ours becomes what this version has for it.
std::vector<std::string> translated(const Library& library, std::vector<std::string> options) {
  const bool asked = std::erase(options, std::string(bundled_headers)) > 0;
  if (asked && library.find("nvrtcInstallBundledHeaders") != nullptr) {
    std::erase_if(options, [](const std::string& option) { return option.starts_with("-I"); });
    options.emplace_back("--use-bundled-headers=headers");
  }
  return options;
}

/// A source that was given to NVRTC.
struct Compiled {
  Program program = nullptr;
  Result result = success;
  std::string log;
};

Compiled compile(const Library& library, const char* name, const std::string& source,
                 const std::vector<std::string>& options,
                 const std::map<std::string, std::string>& headers) {
  std::vector<const char*> names;
  std::vector<const char*> texts;
  for (const auto& [header, text] : headers) {
    names.push_back(header.c_str());
    texts.push_back(text.c_str());
  }
  std::vector<const char*> pointers;
  for (const auto& option : options) pointers.push_back(option.c_str());

  Compiled compiled;
  library
      .get<Result(Program*, const char*, const char*, int, const char* const*, const char* const*)>(
          "nvrtcCreateProgram")(&compiled.program, source.c_str(), name,
                                static_cast<int>(names.size()), texts.data(), names.data());
  compiled.result = library.get<Result(Program, int, const char* const*)>("nvrtcCompileProgram")(
      compiled.program, static_cast<int>(pointers.size()), pointers.data());

  std::size_t size = 0;
  library.get<Result(Program, std::size_t*)>("nvrtcGetProgramLogSize")(compiled.program, &size);
  compiled.log.resize(size);
  library.get<Result(Program, char*)>("nvrtcGetProgramLog")(compiled.program, compiled.log.data());
  compiled.log.resize(std::string_view(compiled.log.c_str()).size());
  return compiled;
}

/// Whether a source failed over a name that it and the implicit header both define. Where that is
/// a macro, all that the compiler sees is a value in a name's place.
bool has_own_names(const Compiled& compiled) {
  return compiled.result == compilation_failed &&
         (compiled.log.find(implicit_header) != std::string::npos ||
          compiled.log.find("expected an identifier") != std::string::npos);
}

/// With the standard headers, or without where a source is in no need of them and they in its way.
Compiled compile(const Library& library, const char* name, const std::string& source,
                 const std::vector<std::string>& options) {
  auto implicit = options;
  implicit.push_back(std::string("--pre-include=") + implicit_header);
  const bool has_folders = std::any_of(options.begin(), options.end(),
                                       [](const auto& option) { return option.starts_with("-I"); });
  auto compiled = compile(library, name, source, implicit, standard_headers(has_folders));
  if (has_own_names(compiled)) {
    auto bare = compile(library, name, source, options, {});
    if (bare.result == success) return bare;
  }
  return compiled;
}

}  // namespace

void run_nvrtc(const Library& library, const char* input, const char* output,
               std::vector<std::string> options) {
  int major = 0;
  int minor = 0;
  library.get<Result(int*, int*)>("nvrtcVersion")(&major, &minor);
  const std::string version = "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
  if (input == nullptr) finish(exit_compiled, version + "\n");

  const auto [program, result, log] =
      compile(library, input, read_text(input), translated(library, std::move(options)));
  if (result == invalid_option) finish(exit_target, version + " refuses an option: " + log);
  if (result != success) {
    const char* name = library.get<const char*(Result)>("nvrtcGetErrorString")(result);
    finish(exit_source, log.empty() ? version + ": " + name + "\n" : log);
  }

  const auto write = [&](const std::string& what, const std::filesystem::path& path) {
    std::size_t size = 0;
    library.get<Result(Program, std::size_t*)>("nvrtcGet" + what + "Size")(program, &size);
    std::vector<char> bytes(size);
    library.get<Result(Program, char*)>("nvrtcGet" + what)(program, bytes.data());
    write_bytes(path.c_str(), bytes);
  };
  write("CUBIN", output);
  write("PTX", std::filesystem::path(output).replace_extension("ptx"));
  finish(exit_compiled, log);
}

}  // namespace ouroboros::cuda
