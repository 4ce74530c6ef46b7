#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ouroboros/api.hpp"
#include "ouroboros/dtype.hpp"

/// What a GPU candidate would launch, as data. docs/plan.md has the file format and the audit.
namespace ouroboros {

/// What a plan's buffer is for, and who decides what is in it before a replay.
enum class PlanRole : std::uint8_t {
  input,    ///< The referee's secret values; mapped read-only.
  output,   ///< Poisoned before every replay; compared afterwards.
  scratch,  ///< Poisoned before every replay.
  state,    ///< Restored from an image before every replay.
};

/// One allocation that launches refer to. Plans hold no addresses: the executor chooses them.
struct PlanBuffer {
  std::string name;
  PlanRole role = PlanRole::scratch;
  std::uint64_t bytes = 0;
  DType dtype = DType::float32;        ///< Of an input or output; not meant for the others.
  std::vector<std::int64_t> shape;     ///< Of an input or output, outermost first.
  std::vector<std::int64_t> strides;   ///< In elements, as many as `shape` has.
  std::optional<std::uint32_t> image;  ///< Of a state buffer: what it holds, `bytes` bytes long.
};

/// Who wrote a module.
enum class ModuleOrigin : std::uint8_t { candidate, library };

/// Device code for one architecture: a cubin.
struct PlanModule {
  ModuleOrigin origin = ModuleOrigin::candidate;
  std::uint32_t image = 0;
};

/// A place in a buffer.
struct BufferOffset {
  std::uint32_t buffer = 0;
  std::uint64_t offset = 0;  ///< In bytes.
};

/// A pointer inside a kernel's parameters: 8 bytes at `at` become the address of `target`.
struct ParameterPointer {
  std::uint32_t at = 0;
  BufferOffset target;
};

/// A TMA descriptor inside a kernel's parameters: 128 bytes at `at` become what
/// cuTensorMapEncodeTiled makes of these. The numbers are those of the CUDA driver's enumerations.
struct ParameterTensorMap {
  std::uint32_t at = 0;
  BufferOffset target;
  std::uint32_t data_type = 0;               ///< CUtensorMapDataType.
  std::vector<std::uint64_t> sizes;          ///< 1 to 5, innermost first, in elements.
  std::vector<std::uint64_t> strides_bytes;  ///< One fewer: the innermost has none.
  std::vector<std::uint32_t> box;            ///< In elements.
  std::vector<std::uint32_t> element_strides;
  std::uint32_t interleave = 0;    ///< CUtensorMapInterleave.
  std::uint32_t swizzle = 0;       ///< CUtensorMapSwizzle.
  std::uint32_t l2_promotion = 0;  ///< CUtensorMapL2promotion.
  std::uint32_t oob_fill = 0;      ///< CUtensorMapFloatOOBfill.
};

/// Where one parameter of a kernel lies in the parameter block.
struct ParameterField {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

using Dim3 = std::array<std::uint32_t, 3>;

struct KernelLaunch {
  std::uint32_t module = 0;
  std::string function;
  Dim3 grid{1, 1, 1};
  Dim3 block{1, 1, 1};
  Dim3 cluster{1, 1, 1};           ///< All ones: no cluster attribute.
  std::uint32_t shared_bytes = 0;  ///< Dynamic shared memory.
  bool cooperative = false;
  std::vector<std::byte> parameters;   ///< The block; pointers and descriptors in it are zero.
  std::vector<ParameterField> fields;  ///< In order, without overlap.
  std::vector<ParameterPointer> pointers;
  std::vector<ParameterTensorMap> tensor_maps;
};

/// Sets `count` elements of `width` bytes (1, 2 or 4) to `value`.
struct MemsetLaunch {
  BufferOffset target;
  std::uint32_t value = 0;
  std::uint32_t width = 1;
  std::uint64_t count = 0;
};

/// Copies `bytes` bytes between two places that do not overlap.
struct CopyLaunch {
  BufferOffset target;
  BufferOffset source;
  std::uint64_t bytes = 0;
};

using Launch = std::variant<KernelLaunch, MemsetLaunch, CopyLaunch>;

/// Bytes that a plan carries: a module, or the contents of a state buffer.
struct PlanImage {
  std::vector<std::byte> bytes;
  std::string sha256;  ///< 64 lower-case hexadecimal digits.
};

/// How a plan came to be.
enum class PlanOrigin : std::uint8_t {
  dry_trace,      ///< Host code on tensors without memory, no GPU.
  live_trace,     ///< Stream capture on a GPU.
  specification,  ///< A declarative launch specification: no host code at all.
};

/// Everything a GPU executor needs: launches run one after another, in this order.
struct LaunchPlan {
  static constexpr std::uint32_t format_version = 1;

  PlanOrigin origin = PlanOrigin::dry_trace;
  std::string language;  ///< "triton", "python", "cuda" or "ptx".
  std::string target;    ///< "sm_90": what the modules were compiled for.
  std::string variant;   ///< The autotune configuration, in words; empty when there is one only.
  std::vector<PlanBuffer> buffers;
  std::vector<PlanModule> modules;
  std::vector<Launch> launches;
  std::vector<PlanImage> images;

  /// Reads a plan: the only way from bytes to a plan. Everything that `docs/plan.md` calls
  /// structure is checked. Throws `Error{invalid_argument}` that names the field.
  [[nodiscard]] OUROBOROS_API static LaunchPlan parse(std::span<const std::byte> bytes);

  /// The inverse of `parse`: equal plans give equal bytes.
  [[nodiscard]] OUROBOROS_API std::vector<std::byte> serialise() const;
};

/// What the audit measures a plan against: the signature that the problem wants, and policies.
struct PlanRules {
  std::vector<PlanBuffer> signature;  ///< Inputs, then outputs, in order: dtype, shape, strides.
  bool library_kernels = true;        ///< Whether modules of origin library may be launched.
  std::size_t launches = 4096;        ///< The most launches.
  std::uint64_t scratch_bytes = 1ull << 32;  ///< The most scratch and state together.
};

/// Why a plan may not be replayed.
struct PlanRefusal {
  std::string kind;      ///< One of the names in docs/plan.md, e.g. "output_dtype".
  std::string evidence;  ///< One sentence that names the launch or buffer.
};

/// All the reasons why a well-formed plan may not be replayed under `rules`; empty when sound.
[[nodiscard]] OUROBOROS_API std::vector<PlanRefusal> audit(const LaunchPlan& plan,
                                                           const PlanRules& rules);

/// What a cubin says of one of its kernels.
struct KernelResources {
  std::string function;
  std::uint32_t registers = 0;             ///< A thread.
  std::uint64_t stack_bytes = 0;           ///< A thread's local memory: arrays and spills.
  std::uint64_t shared_bytes = 0;          ///< Static shared memory of a block.
  std::uint32_t parameter_bytes = 0;       ///< Size of the parameter block.
  std::vector<ParameterField> parameters;  ///< As the cubin declares them, in order.
};

/// Reads the resource usage of every kernel of a cubin. Bounds-checked: the bytes may be hostile.
/// Throws `Error{invalid_argument}` for bytes that are no cubin.
[[nodiscard]] OUROBOROS_API std::vector<KernelResources> kernel_resources(
    std::span<const std::byte> cubin);

/// A section of a module's own memory that kernels can write: variables of `__device__`
/// and `__constant__`.
struct GlobalSection {
  struct Symbol {
    std::string name;
    std::uint64_t offset = 0;  ///< In the section.
  };
  std::uint64_t bytes = 0;
  /// Variables by which a driver can say where the section lies; 64 at most. None where a variable
  /// is managed: those lie elsewhere.
  std::vector<Symbol> symbols;
};

/// By what a module's kernels can remember one launch in the next, buffers aside.
struct ModuleMemory {
  std::vector<GlobalSection> globals;
  bool heap = false;  ///< Calls the device's malloc or free.
};

/// Reads what memory of its own a cubin has. Bounds-checked and throwing as `kernel_resources`.
[[nodiscard]] OUROBOROS_API ModuleMemory module_memory(std::span<const std::byte> cubin);

/// The architecture of a cubin, e.g. "sm_90" or "sm_90a". Throws as `kernel_resources`.
[[nodiscard]] OUROBOROS_API std::string cubin_target(std::span<const std::byte> cubin);

}  // namespace ouroboros
