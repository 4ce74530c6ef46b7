#include <filesystem>
#include <string_view>

#include "compile/cuda/main/exit_code.hpp"
#include "compile/cuda/main/library.hpp"

namespace ouroboros::cuda {
namespace {

// nvrtc.h, as far as it is needed: the numbers and types have not changed since CUDA 11.
using Result = int;
using Program = void*;
constexpr Result success = 0;
constexpr Result invalid_option = 5;

/// Options for NVRTC: ours becomes what this version has for it.
std::vector<std::string> translated(const Library& library, std::vector<std::string> options) {
  const bool asked = std::erase(options, std::string(bundled_headers)) > 0;
  if (asked && library.find("nvrtcInstallBundledHeaders") != nullptr) {
    std::erase_if(options, [](const std::string& option) { return option.starts_with("-I"); });
    options.emplace_back("--use-bundled-headers=headers");
  }
  return options;
}

}  // namespace

void run_nvrtc(const Library& library, const char* input, const char* output,
               std::vector<std::string> options) {
  int major = 0;
  int minor = 0;
  library.get<Result(int*, int*)>("nvrtcVersion")(&major, &minor);
  const std::string version = "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
  if (input == nullptr) finish(exit_compiled, version + "\n");

  const std::string source = read_text(input);
  Program program = nullptr;
  library
      .get<Result(Program*, const char*, const char*, int, const char* const*, const char* const*)>(
          "nvrtcCreateProgram")(&program, source.c_str(), input, 0, nullptr, nullptr);
  options = translated(library, std::move(options));
  std::vector<const char*> pointers;
  for (const auto& option : options) pointers.push_back(option.c_str());
  const Result result = library.get<Result(Program, int, const char* const*)>(
      "nvrtcCompileProgram")(program, static_cast<int>(pointers.size()), pointers.data());

  std::size_t size = 0;
  library.get<Result(Program, std::size_t*)>("nvrtcGetProgramLogSize")(program, &size);
  std::string log(size, '\0');
  library.get<Result(Program, char*)>("nvrtcGetProgramLog")(program, log.data());
  log.resize(std::string_view(log.c_str()).size());
  if (result == invalid_option) finish(exit_target, version + " refuses an option: " + log);
  if (result != success) {
    const char* name = library.get<const char*(Result)>("nvrtcGetErrorString")(result);
    finish(exit_source, log.empty() ? version + ": " + name + "\n" : log);
  }

  const auto write = [&](const std::string& what, const std::filesystem::path& path) {
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
