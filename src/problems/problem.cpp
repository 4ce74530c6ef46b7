#include "ouroboros/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include "ouroboros/error.hpp"
#include "ouroboros/plan.hpp"
#include "plan/identifier.hpp"

namespace ouroboros {
namespace {

/// Walks a problem and throws at the first field that cannot work.
class Checker {
 public:
  explicit Checker(const Problem& problem) : problem_(problem) {}

  void run() {
    basics();
    axes();
    inputs();
    outputs();
    arguments();
    timed("timed", problem_.timed);
    timed("timed_gpu", problem_.timed_gpu);
    baselines();
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("problem '{}': {}", problem_.name, message));
  }

  void take_name(const std::string& name, const std::string& field) {
    if (!is_identifier(name)) {
      fail(fmt::format("{}: '{}' is no name: letters, digits and '_' make one, not a digit first",
                       field, name));
    }
    if (!names_.insert(name).second) {
      fail(
          fmt::format("{}: the name '{}' is taken by another axis, input or output: rename one, "
                      "outputs with outputs = [...]",
                      field, name));
    }
  }

  const Axis* find_axis(const std::string& name) const {
    const auto found = std::find_if(problem_.axes.begin(), problem_.axes.end(),
                                    [&](const Axis& axis) { return axis.name == name; });
    return found == problem_.axes.end() ? nullptr : &*found;
  }

  void basics() const {
    if (problem_.name.empty()) fail("name: it is empty");
    if (!problem_.reference) fail("reference: there is none");
    if (problem_.dtypes.empty()) fail("dtypes: there is none");
    if (std::set(problem_.dtypes.begin(), problem_.dtypes.end()).size() != problem_.dtypes.size()) {
      fail("dtypes: one is listed twice");
    }
    if (problem_.policies.mutates_inputs) {
      fail("policies.mutates_inputs: inputs are read-only for candidates, so it must be false");
    }
  }

  void axes() {
    for (std::size_t i = 0; i < problem_.axes.size(); ++i) {
      const Axis& axis = problem_.axes[i];
      const std::string field = fmt::format("axes[{}]", i);
      take_name(axis.name, field);
      if (axis.multiple_of < 1) fail(fmt::format("{} '{}': multiple_of < 1", field, axis.name));
      if (axis.minimum < 0) fail(fmt::format("{} '{}': minimum < 0", field, axis.name));
      if (axis.fixed) {
        if (*axis.fixed < 0) fail(fmt::format("{} '{}': fixed < 0", field, axis.name));
        if (*axis.fixed % axis.multiple_of != 0) {
          fail(fmt::format("{} '{}': fixed is no multiple of {}", field, axis.name,
                           axis.multiple_of));
        }
        continue;
      }
      if (axis.maximum / axis.multiple_of * axis.multiple_of < axis.minimum) {
        fail(fmt::format("{} '{}': no multiple of {} lies between minimum {} and maximum {}", field,
                         axis.name, axis.multiple_of, axis.minimum, axis.maximum));
      }
      if (!is_used(axis.name)) {
        fail(fmt::format(
            "{} '{}': no input's shape has it, so the reference cannot know it: give it "
            "one value (fixed), or an input that is so long",
            field, axis.name));
      }
    }
  }

  bool is_used(const std::string& axis) const {
    return std::any_of(problem_.inputs.begin(), problem_.inputs.end(), [&](const Input& input) {
      return std::any_of(input.shape.begin(), input.shape.end(),
                         [&](const Dim& dim) { return dim.axis == axis; });
    });
  }

  void inputs() {
    if (problem_.inputs.empty()) fail("inputs: there is none");
    for (std::size_t i = 0; i < problem_.inputs.size(); ++i) {
      const Input& input = problem_.inputs[i];
      take_name(input.name, fmt::format("inputs[{}]", i));
      const std::string field = fmt::format("inputs[{}] '{}'", i, input.name);
      for (const Dim& dim : input.shape) {
        if (dim.axis.empty() ? dim.scale < 0 : dim.scale < 1) {
          fail(fmt::format("{}: shape has an extent with the scale {}", field, dim.scale));
        }
        if (!dim.axis.empty() && find_axis(dim.axis) == nullptr) {
          fail(fmt::format("{}: shape has the unknown axis '{}'", field, dim.axis));
        }
      }
      if (are_positions(input.values)) {
        indices(input, field);
      } else if (input.padding) {
        fail(fmt::format("{}: padding is for indices alone", field));
      }
    }
  }

  void indices(const Input& input, const std::string& field) const {
    if (input.dtype != DType::int32 && input.dtype != DType::int64) {
      fail(fmt::format(
          "{}: indices, lengths, offsets and permutations need the dtype int32 or int64", field));
    }
    const Axis* axis = find_axis(input.index_axis);
    if (axis == nullptr) {
      fail(fmt::format("{}: index_axis is the unknown axis '{}'", field, input.index_axis));
    }
    if (input.values != Values::index) {
      if (input.padding) fail(fmt::format("{}: padding is for indices alone", field));
      if (are_ordered(input.values)) order(input, field);
      return;
    }
    if (axis->fixed.value_or(axis->minimum) < 1) {
      fail(fmt::format("{}: index_axis '{}' may be 0, which leaves no index", field, axis->name));
    }
    using Short = std::numeric_limits<std::int32_t>;
    if (input.padding && input.dtype == DType::int32 &&
        (*input.padding < Short::min() || *input.padding > Short::max())) {
      fail(fmt::format("{}: padding {} is no int32", field, *input.padding));
    }
  }

  /// Offsets and permutations are of a last dimension.
  void order(const Input& input, const std::string& field) const {
    if (input.shape.empty())
      fail(fmt::format("{}: offsets and permutations need a dimension", field));
    const Dim& last = input.shape.back();
    if (input.values == Values::permutation && (last.axis != input.index_axis || last.scale != 1)) {
      fail(fmt::format("{}: the last extent of a permutation is its index_axis, '{}'", field,
                       input.index_axis));
    }
  }

  void outputs() {
    if (problem_.outputs.empty()) fail("outputs: there is none");
    for (std::size_t i = 0; i < problem_.outputs.size(); ++i) {
      take_name(problem_.outputs[i], fmt::format("outputs[{}]", i));
    }
  }

  void arguments() const {
    const auto sizes = static_cast<std::size_t>(
        std::count_if(problem_.axes.begin(), problem_.axes.end(),
                      [](const Axis& axis) { return !axis.fixed.has_value(); }));
    const std::size_t total = problem_.inputs.size() + problem_.outputs.size() + sizes;
    if (total > max_call_arguments) {
      fail(fmt::format(
          "inputs: {} inputs, {} outputs and {} sizes make {} arguments, and a call "
          "has at most {}",
          problem_.inputs.size(), problem_.outputs.size(), sizes, total, max_call_arguments));
    }
  }

  void timed(std::string_view list, const std::vector<AxisValues>& cells) const {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const AxisValues& cell = cells[i];
      const std::string field = fmt::format("{}[{}]", list, i);
      for (const auto& [name, value] : cell) {
        if (find_axis(name) == nullptr) fail(fmt::format("{}: unknown axis '{}'", field, name));
      }
      for (const Axis& axis : problem_.axes) {
        const auto found = cell.find(axis.name);
        if (found == cell.end()) {
          if (axis.fixed) continue;
          const auto hint =
              axis.minimum == axis.maximum
                  ? fmt::format(
                        ". It can only be {0}: with fixed={0} it needs none, and is no "
                        "argument of candidates",
                        axis.minimum)
                  : "";
          fail(fmt::format("{}: axis '{}' has no value{}", field, axis.name, hint));
        }
        const std::int64_t value = found->second;
        if (axis.fixed && value != *axis.fixed) {
          fail(fmt::format("{}: axis '{}' is fixed at {}, not {}", field, axis.name, *axis.fixed,
                           value));
        }
        if (axis.fixed) continue;
        if (value < axis.minimum) {
          fail(fmt::format("{}: axis '{}' is at least {}, not {}", field, axis.name, axis.minimum,
                           value));
        }
        if (value % axis.multiple_of != 0) {
          fail(fmt::format("{}: axis '{}' is a multiple of {}, and {} is not", field, axis.name,
                           axis.multiple_of, value));
        }
      }
    }
  }

  void baselines() const {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < problem_.baselines.size(); ++i) {
      const Baseline& baseline = problem_.baselines[i];
      if (baseline.name.empty()) fail(fmt::format("baselines[{}]: the name is empty", i));
      // The host has an eager mode of its own; a GPU's is a plan like the others.
      const bool taken = baseline.name == "eager" && baseline.prepare;
      if (!seen.insert(baseline.name).second || taken) {
        fail(fmt::format("baselines[{}]: there is already one named '{}'", i, baseline.name));
      }
      if (!baseline.prepare && !baseline.plan && !baseline.variants && !baseline.image) {
        fail(
            fmt::format("baselines[{}] '{}': prepare (for the host) or plan (for a GPU) is missing",
                        i, baseline.name));
      }
    }
  }

  const Problem& problem_;
  std::set<std::string> names_;
};

}  // namespace

std::string_view to_string(LibraryKernels policy) noexcept {
  switch (policy) {
    case LibraryKernels::forbid:
      return "forbid";
    case LibraryKernels::allow:
      return "allow";
    case LibraryKernels::report:
      return "report";
  }
  return "";
}

std::optional<LibraryKernels> parse_library_kernels(std::string_view name) noexcept {
  for (const auto one : {LibraryKernels::forbid, LibraryKernels::allow, LibraryKernels::report}) {
    if (name == to_string(one)) return one;
  }
  return std::nullopt;
}

void Problem::check() const { Checker(*this).run(); }

}  // namespace ouroboros
