#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compile/cuda/parameter_kinds.hpp"
#include "compile/cuda/specification.hpp"
#include "ouroboros/api.hpp"
#include "ouroboros/candidate.hpp"
#include "ouroboros/dtype.hpp"
#include "ouroboros/launch_plan.hpp"
#include "ouroboros/limits.hpp"
#include "ouroboros/plan.hpp"
#include "ouroboros/verdict.hpp"

/// Candidates in CUDA C++ and PTX: compiled in a sandboxed process, launched as their launch
/// specification says. docs/launch-specification.md is the page for who writes them.
namespace ouroboros::cuda {

/// Why a source did not become a module: the candidate's fault.
struct CudaFailure {
  std::string kind;     ///< "refused_source", "launch_specification", "compile_error", "timeout".
  std::string message;  ///< One sentence; the compiler's words are in `Compilation::log`.
};

/// A compiled source, for one dtype and one architecture.
struct CudaModule {
  Compilation record;
  ModuleImage cubin;
  std::string ptx;  ///< What `cubin` was assembled from.
  LaunchSpecification specification;
  std::vector<KernelResources> kernels;
  std::map<std::string, std::vector<ParameterKind>> parameter_kinds;  ///< Of kernels by name.
  std::optional<CudaFailure> failure;
  DType dtype = DType::float32;
  std::string language;
  std::string target;
};

/// Compiles a candidate in the language "cuda" or "ptx" for `target`, e.g. "sm_90" or "sm_90a".
/// `toolkits` are folders, or libraries, to look for NVRTC and its companions in before the usual
/// places. Throws `Error` where the machine is at fault: no NVRTC, an architecture that it does
/// not know, no sandbox, no scratch space, cancelled.
[[nodiscard]] OUROBOROS_API CudaModule compile_cuda(
    const Candidate& candidate, DType dtype, const std::string& target, const Limits& limits,
    const std::filesystem::path& scratch, const std::function<bool()>& cancelled,
    const std::vector<std::filesystem::path>& toolkits = {});

/// A compiled module's PTX, `staggered` and assembled. Nothing where no assembler takes it. Throws
/// `Error` where the machine is at fault, as `compile_cuda` does.
[[nodiscard]] OUROBOROS_API std::optional<ModuleImage> assemble_staggered(
    const CudaModule& module, const Limits& limits, const std::filesystem::path& scratch,
    const std::function<bool()>& cancelled,
    const std::vector<std::filesystem::path>& toolkits = {});

/// What a compiled module launches on one signature: inputs, then outputs. Throws
/// `SpecificationFault`, which is the candidate's fault.
[[nodiscard]] OUROBOROS_API LaunchPlan plan_for(const CudaModule& module,
                                                const std::vector<PlanBuffer>& signature,
                                                const std::map<std::string, std::int64_t>& axes);

}  // namespace ouroboros::cuda
