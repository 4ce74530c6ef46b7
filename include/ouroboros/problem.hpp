#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ouroboros/api.hpp"
#include "ouroboros/dtype.hpp"
#include "ouroboros/launch_plan.hpp"

namespace ouroboros {

using Tensors = std::vector<at::Tensor>;

/// LibTorch's type of the same name.
[[nodiscard]] OUROBOROS_API at::ScalarType scalar_type(DType dtype) noexcept;

/// A computation on tensors: what a candidate must reproduce. It must be deterministic, must not
/// write to its inputs and must return new contiguous-able tensors.
using Reference = std::function<Tensors(const Tensors& inputs)>;

/// A value for each axis by name, e.g. {"rows": 1024, "cols": 4096}.
using AxisValues = std::map<std::string, std::int64_t>;

/// A size that shapes refer to by name. The judge derives adversarial values from it.
struct Axis {
  std::string name;
  std::int64_t minimum = 1;                ///< 0 where an empty tensor is legal.
  std::int64_t maximum = 8192;             ///< Largest value that the sweep may derive.
  std::int64_t multiple_of = 1;            ///< Every value is a multiple of this.
  std::optional<std::int64_t> fixed = {};  ///< Set when the axis has one value only.
};

/// One extent of a shape: `scale * axis`, or the constant `scale` when `axis` is empty.
struct Dim {
  std::int64_t scale = 1;
  std::string axis = {};
};

/// Which values an input takes.
enum class Values : std::uint8_t {
  real,      ///< Drawn from the value families of the sweep.
  positive,  ///< As `real`, but the absolute value plus a little: for variances and scales.
  index,     ///< Integers in [0, extent of `index_axis`).
  length,    ///< Integers in [0, extent of `index_axis`], as many as count along it.
  angle,     ///< Cosines and sines come in pairs elsewhere; here plain values in [-1, 1].
  mask,      ///< Ones where something is there, zeros where nothing is, in any dtype.
  /// Where the parts of `index_axis` begin, and the last one ends: along the last dimension from 0
  /// to the whole extent, never falling, as `indptr` and `cu_seqlens` are.
  offsets,
  permutation,  ///< Every integer in [0, extent of `index_axis`) once, along the last dimension.
};

/// Whether these are positions: integers that point somewhere along `index_axis`.
[[nodiscard]] constexpr bool are_positions(Values values) noexcept {
  return values == Values::index || values == Values::length || values == Values::offsets ||
         values == Values::permutation;
}

/// Whether each depends on the others of its row.
[[nodiscard]] constexpr bool are_ordered(Values values) noexcept {
  return values == Values::offsets || values == Values::permutation;
}

/// One input of a problem.
struct Input {
  std::string name;
  std::vector<Dim> shape = {};
  std::optional<DType> dtype = {};  ///< Empty: the dtype of the case.
  Values values = Values::real;
  std::string index_axis = {};  ///< For positions: the axis whose extent bounds them.
  bool parameter = false;       ///< A weight: drawn near one or zero-mean, not from the families.
  /// For indices: what stands in some places in the place of one, as -1 or -100 where a loss or a
  /// table of blocks has none.
  std::optional<std::int64_t> padding = {};
};

/// Whether GPU candidates may launch kernels of libraries beside their own.
enum class LibraryKernels : std::uint8_t {
  forbid,  ///< One in a plan rejects it.
  allow,   ///< They may help: a candidate whose own kernels contribute nothing is rejected.
  report,  ///< They may do it all: what they do is noted.
};

[[nodiscard]] OUROBOROS_API std::string_view to_string(LibraryKernels policy) noexcept;
[[nodiscard]] OUROBOROS_API std::optional<LibraryKernels> parse_library_kernels(
    std::string_view name) noexcept;

/// What a problem allows.
struct Policies {
  LibraryKernels library_kernels = LibraryKernels::forbid;
  bool nan_meaningful = false;  ///< Cases with NaN inputs are part of the sweep.
  bool inf_meaningful = false;  ///< Cases with infinite inputs are part of the sweep.
  bool mutates_inputs = false;  ///< Always false on the host, where inputs are mapped read-only.
};

struct ModuleImage;

/// Something to compare a candidate's time with.
struct Baseline {
  std::string name;  ///< "eager", "compile", ...
  /// Makes a callable that computes once from `inputs` into `outputs` (or into fresh memory, as
  /// eager mode does). Called once for each timed cell; the buffers' contents change afterwards,
  /// their addresses do not. Compiling and warming up belong here.
  std::function<std::function<void()>(const Tensors& inputs, const Tensors& outputs)> prepare;
  /// Makes a launch plan that computes the same on a GPU, from inputs to outputs like these. Empty
  /// where there is none; throws `Error` where it cannot be had.
  std::function<LaunchPlan(const std::vector<PlanBuffer>& signature)> plan = {};
  /// As `plan`, where there are several configurations, of which the fastest on the GPU counts.
  std::function<std::vector<LaunchPlan>(const std::vector<PlanBuffer>& signature)> variants = {};
  /// A host candidate that a comparison times another against. It runs in a sealed process as that
  /// one does, and eager mode is not timed beside the two.
  std::shared_ptr<const ModuleImage> image = {};
};

/// What a candidate has to compute, on what, and how it may do it.
struct OUROBOROS_API Problem {
  std::string name;
  std::string description;
  std::string origin;  ///< "builtin:NAME", "file:PATH" or "inline": for replays.
  std::vector<Axis> axes;
  std::vector<Input> inputs;
  std::vector<std::string> outputs = {"out"};
  std::vector<DType> dtypes = {DType::float32};
  std::vector<AxisValues> timed;           ///< Cells to time; the first is also swept.
  std::vector<AxisValues> timed_gpu = {};  ///< Those for a GPU; empty: the same.
  Policies policies;
  Reference reference;
  Reference oracle;                 ///< Empty: the reference in float64, inner casts promoted.
  std::vector<Baseline> baselines;  ///< Besides "eager", which every problem has.

  /// Throws `Error{invalid_argument}` that names the field: unknown axes in shapes, no reference,
  /// too many arguments for a call, timed cells that break an axis' rule.
  void check() const;

  /// C++ prototypes of the entry points that a candidate may export, one line for each dtype.
  /// Throws `Error{invalid_argument}` when the reference fails.
  [[nodiscard]] std::string prototypes() const;
};

/// The problems that ship with the library.
namespace problems {

/// Names of all shipped problems, in order.
[[nodiscard]] OUROBOROS_API std::vector<std::string> names();

/// A shipped problem. Throws `Error{not_found}` that lists the names.
[[nodiscard]] OUROBOROS_API Problem get(std::string_view name);

}  // namespace problems
}  // namespace ouroboros
