#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <sstream>

#include "compile/child.hpp"
#include "compile/cuda/cuda.hpp"
#include "compile/cuda/main/exit_code.hpp"
#include "compile/cuda/refuse_source.hpp"
#include "compile/cuda/stagger.hpp"
#include "compile/cuda/toolkit.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* program = "ouroboros-cuda-compiler";
constexpr const char* cubin_file = "candidate.cubin";
constexpr const char* ptx_file = "candidate.ptx";

constexpr std::string_view how_to_install =
    "install the wheels nvidia-cuda-nvrtc, nvidia-nvjitlink, nvidia-cuda-runtime and "
    "nvidia-cuda-cccl, or a CUDA toolkit, or name its folder in OUROBOROS_NVRTC";

/// One way to make a cubin: a command that writes `cubin_file`, and the one that says its version.
struct Compiler {
  sandbox::Request request;
  std::vector<std::string> flags;  ///< For the record.
  sandbox::Request version;
};

// "sm_90", "sm_90a", "sm_100f"
bool is_target(const std::string& target) {
  if (!target.starts_with("sm_")) return false;
  auto digits = target.substr(3);
  if (digits.ends_with('a') || digits.ends_with('f')) digits.pop_back();
  return (digits.size() == 2 || digits.size() == 3) &&
         std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// With what later architectures do not have (wgmma, setmaxnreg): nothing is compiled for another
/// GPU than the one that judges. There are such variants from 9.0 on.
std::string in_full(const std::string& target) {
  constexpr int first = 90;
  const bool plain = target.back() >= '0' && target.back() <= '9';
  return plain && std::stoi(target.substr(3)) >= first ? target + 'a' : target;
}

const char* cuda_name(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return "__half";
    case DType::bfloat16:
      return "__nv_bfloat16";
    case DType::float32:
      return "float";
    case DType::float64:
      return "double";
    case DType::int32:
      return "int";
    case DType::int8:
      return "signed char";
    case DType::uint8:
      return "unsigned char";
    case DType::boolean:
      return "bool";
    case DType::float8_e4m3fn:
      return "__nv_fp8_e4m3";
    case DType::float8_e5m2:
      return "__nv_fp8_e5m2";
    case DType::int64:
      return "long long";
  }
  return "void";
}

std::optional<std::string> refuse(const Candidate& candidate, const Limits& limits) {
  const auto& source = candidate.source;
  if (source.size() > static_cast<std::size_t>(limits.source_kib) * compile::kib) {
    return fmt::format("the source has {} KiB, more than the limit of {} KiB",
                       source.size() / compile::kib, limits.source_kib);
  }
  if (source.find('\0') != std::string::npos) {
    return "the source is not text: it holds a zero byte";
  }
  return candidate.language == "cuda" ? refuse_cuda_source(source) : std::nullopt;
}

bool launches(const std::vector<Statement>& statements) {
  return std::any_of(statements.begin(), statements.end(), [](const Statement& statement) {
    if (const auto* conditional = std::get_if<Conditional>(&statement.what)) {
      return launches(conditional->first) || launches(conditional->second);
    }
    if (const auto* loop = std::get_if<Loop>(&statement.what)) return launches(loop->body);
    return std::holds_alternative<KernelCall>(statement.what);
  });
}

/// The specification, if it can launch anything for this dtype. Throws `SpecificationFault`.
LaunchSpecification read_specification(const Candidate& candidate, DType dtype) {
  auto specification = parse_specification(candidate.source);
  if (!launches(specification.statements)) {
    throw SpecificationFault({0, 0},
                             "the source launches nothing: write a line such as '//! launch "
                             "kernel<<<rows, 256>>>(x, out, cols)'");
  }
  const auto& dtypes = specification.dtypes;
  if (!dtypes.empty() && std::find(dtypes.begin(), dtypes.end(), dtype) == dtypes.end()) {
    throw SpecificationFault(specification.dtypes_at,
                             fmt::format("'dtypes' does not name {}", to_string(dtype)));
  }
  return specification;
}

Compiler nvrtc(const Toolkit& toolkit, const compile::ScratchFolder& scratch, DType dtype,
               const std::string& target, const Limits& limits) {
  if (toolkit.nvrtc.empty()) {
    throw Error(ErrorCode::compiler_missing,
                fmt::format("NVRTC was not found in {}: {}", toolkit.looked, how_to_install));
  }
  Compiler compiler;
  compiler.flags = {"--gpu-architecture=" + in_full(target), "--std=c++20",
                    "--device-as-default-execution-space",
                    fmt::format("-DOUROBOROS_DTYPE={}", cuda_name(dtype)),
                    fmt::format("-DOUROBOROS_DTYPE_{}=1", to_string(dtype))};
  compiler.request = compile::sandboxed(sandbox::find_helper(program), scratch, limits);
  compiler.request.readable.push_back(toolkit.nvrtc.parent_path());
  compiler.request.command.insert(compiler.request.command.end(),
                                  {"nvrtc", toolkit.nvrtc.string()});
  compiler.version = compiler.request;
  auto& command = compiler.request.command;
  command.insert(command.end(), {"candidate.cu", cubin_file});
  command.insert(command.end(), compiler.flags.begin(), compiler.flags.end());
  for (const auto& folder : toolkit.headers) {
    command.push_back("-I" + folder.string());
    compiler.request.readable.push_back(folder);
  }
  if (!toolkit.complete_headers) command.emplace_back(bundled_headers);
  return compiler;
}

Compiler assembler(const Toolkit& toolkit, const compile::ScratchFolder& scratch,
                   const std::string& target, const Limits& limits) {
  Compiler compiler;
  compiler.flags = {"-arch=" + in_full(target)};
  if (!toolkit.jit_link.empty()) {
    compiler.request = compile::sandboxed(sandbox::find_helper(program), scratch, limits);
    compiler.request.readable.push_back(toolkit.jit_link.parent_path());
    compiler.request.command.insert(compiler.request.command.end(),
                                    {"nvjitlink", toolkit.jit_link.string()});
    compiler.version = compiler.request;
    compiler.request.command.insert(compiler.request.command.end(), {ptx_file, cubin_file});
  } else if (!toolkit.assembler.empty()) {
    compiler.request = compile::sandboxed(toolkit.assembler, scratch, limits);
    compiler.version = compiler.request;
    compiler.version.command.emplace_back("--version");
    compiler.request.command.insert(compiler.request.command.end(), {ptx_file, "-o", cubin_file});
  } else {
    throw Error(ErrorCode::compiler_missing, fmt::format("neither nvJitLink nor ptxas was found in "
                                                         "{}: {}",
                                                         toolkit.looked, how_to_install));
  }
  compiler.request.command.push_back(compiler.flags.front());
  return compiler;
}

/// Throws when a compilation failed for want of a header that a complete toolkit has.
void require_headers(const std::string& log) {
  constexpr std::array<std::string_view, 5> toolkit_headers = {"\"cuda", "\"cooperative_groups",
                                                               "\"mma.h", "\"nv/", "\"crt/"};
  for (const auto header : toolkit_headers) {
    const auto at = log.find("open source file " + std::string(header));
    if (at != std::string::npos) {
      const auto line = log.substr(at, log.find('\n', at) - at);
      throw Error(ErrorCode::compiler_missing,
                  fmt::format("NVRTC could not {}: CUDA's headers are missing or incomplete; {}",
                              line, how_to_install));
    }
  }
}

/// What a source's author may do about headers that NVRTC lacks.
const char* hint_for(std::string_view line) {
  return line.find("cannot open source file") == std::string_view::npos
             ? ""
             : ": there are CUDA's headers, cub/block/*, cub/warp/*, cuda/std/*, and of the C++ "
               "library those without allocation, input or output";
}

/// The line of a log that says best what is wrong: the first with an error, or the first.
std::string first_complaint(const std::string& log) {
  std::istringstream lines(log);
  std::string line;
  while (std::getline(lines, line)) {
    if (line.find("more than one instance") != std::string::npos &&
        line.ends_with("has \"C\" linkage")) {
      return line + ": rename the kernel, CUDA or the source has another function of that name";
    }
    if (line.find("error") != std::string::npos || line.find("ERROR") != std::string::npos) {
      return line + hint_for(line);
    }
  }
  return log.substr(0, log.find('\n'));
}

std::uint64_t image_bytes(const Limits& limits) {
  return static_cast<std::uint64_t>(limits.image_mib) * compile::mib;
}

/// What a compiler's end means.
void conclude(const std::optional<sandbox::Exit>& exit, const compile::ScratchFolder& scratch,
              const Limits& limits, CudaModule& module) {
  if (!exit || exit->signal == SIGXCPU) {
    module.failure = {
        "timeout", fmt::format("the compiler was still busy after {:g} s", limits.compile_seconds)};
    return;
  }
  auto& log = module.record.log;
  if (exit->signal == 0 && exit->code == exit_library)
    throw Error(ErrorCode::compiler_missing, log);
  if (exit->signal == 0 && exit->code == exit_target) throw Error(ErrorCode::unsupported, log);
  if (exit->signal == 0 && exit->code == exit_compiled) {
    module.cubin.bytes = compile::read_image(scratch.path() / cubin_file, image_bytes(limits));
  }
  if (module.cubin.bytes.empty()) {
    // Where others have filled the disk meanwhile, that is why.
    scratch.require_space(image_bytes(limits));
    if (log.empty()) {
      log = fmt::format("the compiler ended with status {} (signal {}) and no word", exit->code,
                        exit->signal);
    }
    module.failure = {"compile_error", first_complaint(log)};
    return;
  }
  module.cubin.sha256 = sha256_hex(module.cubin.bytes.data(), module.cubin.bytes.size());
  const auto ptx = compile::read_image(scratch.path() / ptx_file, image_bytes(limits));
  module.ptx.assign(reinterpret_cast<const char*>(ptx.data()), ptx.size());
  module.parameter_kinds = parameter_kinds(module.ptx);
  module.kernels = kernel_resources(module.cubin.bytes);
  for (const auto& kernel : module.kernels) module.record.entries.push_back(kernel.function);
  module.record.succeeded = true;
  module.record.image_bytes = static_cast<std::int64_t>(module.cubin.bytes.size());
  module.record.image_sha256 = module.cubin.sha256;
}

}  // namespace

CudaModule compile_cuda(const Candidate& candidate, DType dtype, const std::string& target,
                        const Limits& limits, const std::filesystem::path& scratch_parent,
                        const std::function<bool()>& cancelled,
                        const std::vector<std::filesystem::path>& toolkits) {
  const bool is_ptx = candidate.language == "ptx";
  if (!is_ptx && candidate.language != "cuda") {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' is neither 'cuda' nor 'ptx'", candidate.language));
  }
  if (!is_target(target)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' is no GPU architecture: write e.g. 'sm_90'", target));
  }
  CudaModule module;
  module.dtype = dtype;
  module.language = candidate.language;
  module.target = target;
  module.record.ran = true;
  const auto fail = [&module](const std::string& kind, const std::string& message) {
    module.failure = {kind, message};
    module.record.log = message;
    return module;
  };
  if (const auto refusal = refuse(candidate, limits)) return fail("refused_source", *refusal);
  try {
    module.specification = read_specification(candidate, dtype);
  } catch (const SpecificationFault& fault) {
    return fail("launch_specification", fault.what());
  }

  const compile::ScratchFolder scratch(scratch_parent);
  scratch.require_space(image_bytes(limits));
  scratch.write(is_ptx ? ptx_file : "candidate.cu", candidate.source);
  const auto toolkit = find_toolkit(toolkits);
  auto compiler = is_ptx ? assembler(toolkit, scratch, target, limits)
                         : nvrtc(toolkit, scratch, dtype, target, limits);
  module.record.compiler = compile::version_line(std::move(compiler.version), limits, cancelled);
  module.record.flags = compiler.flags;

  const auto start = Clock::now();
  const auto exit = compile::run(std::move(compiler.request), limits.compile_seconds,
                                 static_cast<std::size_t>(limits.log_kib) * compile::kib, cancelled,
                                 module.record.log);
  module.record.duration_ms =
      std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  module.record.log = compile::without_folder(std::move(module.record.log), scratch.path());
  conclude(exit, scratch, limits, module);
  if (module.failure && !is_ptx && !toolkit.complete_headers) require_headers(module.record.log);
  return module;
}

std::optional<ModuleImage> assemble_staggered(const CudaModule& module, const Limits& limits,
                                              const std::filesystem::path& scratch_parent,
                                              const std::function<bool()>& cancelled,
                                              const std::vector<std::filesystem::path>& toolkits) {
  const auto toolkit = find_toolkit(toolkits);
  if (toolkit.jit_link.empty() && toolkit.assembler.empty()) return std::nullopt;
  const compile::ScratchFolder scratch(scratch_parent);
  scratch.require_space(image_bytes(limits));
  // NVRTC ends its PTX with a zero.
  scratch.write(ptx_file, staggered(module.ptx.substr(0, module.ptx.find('\0'))));
  std::string log;
  auto compiler = assembler(toolkit, scratch, module.target, limits);
  const auto exit =
      compile::run(std::move(compiler.request), limits.compile_seconds,
                   static_cast<std::size_t>(limits.log_kib) * compile::kib, cancelled, log);
  if (!exit || exit->signal != 0 || exit->code != exit_compiled) return std::nullopt;
  ModuleImage image;
  image.bytes = compile::read_image(scratch.path() / cubin_file, image_bytes(limits));
  if (image.bytes.empty()) return std::nullopt;
  image.sha256 = sha256_hex(image.bytes.data(), image.bytes.size());
  return image;
}

}  // namespace ouroboros::cuda
