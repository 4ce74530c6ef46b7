#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ouroboros/limits.hpp"
#include "ouroboros/plan.hpp"
#include "ouroboros/verdict.hpp"

namespace ouroboros::compile {

/// How a compilation ended.
enum class Result : std::uint8_t { compiled, failed, timed_out };

struct Output {
  Result result = Result::failed;
  ModuleImage image;
  Compilation record;  ///< Without `entries`, which only loading can tell.
};

struct Settings {
  Limits limits;
  std::string compiler;           ///< As `Options::compiler`.
  std::filesystem::path scratch;  ///< As `Options::scratch`.
  std::function<bool()> cancelled;
};

/// Compiles one C++ source to a shared object in a sandbox that sees the system's headers and a
/// scratch folder, and nothing else. `prelude` is included before the source.
/// Throws `Error` when there is no compiler, no scratch space or no sandbox.
[[nodiscard]] OUROBOROS_API Output compile_cpp(const std::string& source,
                                               const std::string& prelude,
                                               const Settings& settings);

/// The compiler that would be used, with links resolved. Throws `Error{compiler_missing}`.
[[nodiscard]] std::filesystem::path find_compiler(const std::string& configured);

}  // namespace ouroboros::compile
