#include "judge/values/families.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "judge/base/random.hpp"
#include "judge/base/random_tensors.hpp"
#include "judge/base/tensors.hpp"
#include "judge/values/integers.hpp"
#include "judge/values/layout.hpp"
#include "judge/values/masks.hpp"
#include "judge/values/mixtures.hpp"
#include "judge/values/parameters.hpp"
#include "judge/values/positions.hpp"
#include "judge/values/real_marks.hpp"
#include "judge/values/real_values.hpp"
#include "judge/values/streams.hpp"

namespace ouroboros::judge {
namespace {

/// Which dimension of an input has the axis that rows lie along; -1 where it is the last anyhow.
std::int64_t place_along(const Input& input, const CaseSpec& spec) {
  if (spec.along.empty()) return -1;
  for (std::size_t i = 0; i + 1 < input.shape.size(); ++i) {
    if (input.shape[i].axis == spec.along) return static_cast<std::int64_t>(i);
  }
  return -1;
}

template <typename From, typename To>
void store(const std::vector<From>& from, To* to) noexcept {
  std::transform(from.begin(), from.end(), to, [](From v) { return static_cast<To>(v); });
}

template <typename From>
void store(const std::vector<From>& from, DType dtype, const at::Tensor& into) {
  with_type(dtype, [&]<typename T>(T*) { store(from, static_cast<T*>(into.mutable_data_ptr())); });
}

void draw_fast_normal(std::uint64_t key, DType dtype, const at::Tensor& into) {
  const auto count = static_cast<std::size_t>(into.numel());
  if (dtype == DType::float32) {
    random::normal(key, std::span<float>(into.mutable_data_ptr<float>(), count));
  } else if (dtype == DType::float64) {
    random::normal(key, std::span<double>(into.mutable_data_ptr<double>(), count));
  } else {
    std::vector<float> floats(count);
    random::normal(key, std::span<float>(floats));
    store(floats, dtype, into);
  }
}

/// How to make an input where it lies, on any device, from a stream's key.
struct InPlace {
  enum class Numbers { normal, uniform, below } numbers;
  std::uint64_t least = 0;  ///< Of numbers below `end`.
  std::uint64_t end = 0;

  friend bool operator==(const InPlace&, const InPlace&) = default;
};

void fill(const InPlace& how, std::span<const std::uint64_t> keys,
          std::span<const at::Tensor> into) {
  switch (how.numbers) {
    case InPlace::Numbers::normal:
      return random::fill_normal(keys, into);
    case InPlace::Numbers::uniform:
      return random::fill_uniform(keys, into);
    case InPlace::Numbers::below:
      random::fill_below(keys, how.end - how.least, into);
      if (how.least == 0) return;
      for (const auto& one : into) one.add_(static_cast<std::int64_t>(how.least));
  }
}

/// Whether the family "absent" has nothing of an input.
bool is_absent(const Problem& problem, const CaseSpec& spec, std::size_t index) {
  return spec.family == "absent" && chosen_of_data(problem, spec) == index;
}

/// Whether normal numbers are drawn one by one, whatever their neighbours are.
bool is_plain(const Problem& problem, const CaseSpec& spec, std::size_t index, int shrink) {
  const auto& input = problem.inputs[index];
  const bool real = is_floating(dtype_of(input, spec.dtype)) && input.values == Values::real;
  return real && !input.parameter && spec.family == "normal" && shrink == 0;
}

/// Empty where an input is made on this processor, and brought to where it lies: those are small,
/// or drawn once a cell.
std::optional<InPlace> in_place(const Problem& problem, const CaseSpec& spec, std::size_t index,
                                int shrink, const at::Tensor& into) {
  using enum InPlace::Numbers;
  const auto& input = problem.inputs[index];
  if (into.is_cpu() || into.numel() == 0 || is_drawn_as_mask(problem, spec, index) ||
      spec.family != "normal" || place_along(input, spec) >= 0) {
    return std::nullopt;
  }
  if (is_plain(problem, spec, index, shrink)) return InPlace{normal};
  if (input.values == Values::angle) return InPlace{uniform};
  if (are_positions(input.values) && !are_ordered(input.values) && !input.padding &&
      !is_distinct(spec, index)) {
    const auto [least, end] = bounds_of(problem, spec, index);
    return InPlace{below, least, end};
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> families(const Problem& problem, DType dtype) {
  if (!is_floating(dtype)) {
    std::vector<std::string> names = {"normal", "x8",     "x64",   "spike",
                                      "equal",  "sorted", "mixed", "odd_sign"};
    const bool wide = dtype == DType::int32 || dtype == DType::int64;
    if (wide && is_alone(problem)) names.insert(names.end(), {"far_below", "far_above"});
    return names;
  }
  // What overflows float32 is harmless in float64, which therefore gets larger numbers.
  std::vector<std::string> names = {
      "normal",   "uniform",    dtype == DType::float64 ? "x4096" : "x8",
      "x64",      "large_mean", "common_mean",
      "spike",    "equal",      "sorted",
      "denormal", "tiny",       "faint",
      "mixed",    "odd_sign",   "bytes"};
  if (is_alone(problem)) names.insert(names.end(), {"far_below", "far_above"});
  if (problem.policies.nan_meaningful) names.emplace_back("nan");
  if (problem.policies.inf_meaningful) names.emplace_back("inf");
  return names;
}

std::vector<std::string> lone_families(const Problem& problem, DType dtype) {
  std::vector<std::string> names;
  if (!is_floating(dtype)) return names;
  if (problem.policies.nan_meaningful) names.emplace_back("lone_nan");
  if (problem.policies.inf_meaningful) names.insert(names.end(), {"lone_inf", "lone_minus_inf"});
  return names;
}

std::string whole_family(const Problem& problem, std::uint64_t seed) {
  constexpr std::array<std::string_view, 5> names = {"common_mean", "faint", "uniform",
                                                     "large_mean", "odd_sign"};
  const bool paired = has_twins(problem);
  const auto drawn = random::below(random::key(seed, 0), 0, names.size() + (paired ? 1 : 0));
  return std::string(drawn < names.size() ? names[drawn] : "twins");
}

bool has_twins(const Problem& problem) {
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    if (twin_of(problem, i)) return true;
  }
  return false;
}

bool may_score(const Problem& problem) { return !scoring(problem).empty(); }

std::string family_name(const CaseSpec& spec) {
  return spec.along.empty() ? spec.family : spec.family + " along " + spec.along;
}

void draw_input(const Problem& problem, const CaseSpec& spec, std::size_t index, int shrink,
                const at::Tensor& into) {
  if (into.numel() == 0) return;
  if (spec.family == "nothing" && says_what_is_there(problem.inputs[index])) {
    into.fill_(problem.inputs[index].padding.value_or(0));
    return;
  }
  if (is_drawn_as_mask(problem, spec, index)) return draw_mask(problem, spec, index, into);
  if (is_absent(problem, spec, index)) {
    into.zero_();
    return;
  }
  const auto& input = problem.inputs[index];
  const auto place = place_along(input, spec);
  if (place >= 0 && !are_ordered(input.values)) {
    const auto turned = into.transpose(place, -1);
    const auto drawn = empty(turned.sizes().vec(), into.scalar_type(), into.device());
    auto rows = spec;
    rows.along.clear();
    rows.masks.clear();
    draw_input(problem, rows, index, shrink, drawn);
    turned.copy_(drawn);
    leave_some(spec, index, into);
    return;
  }
  const auto dtype = dtype_of(input, spec.dtype);
  const auto count = static_cast<std::size_t>(into.numel());
  if (const auto how = in_place(problem, spec, index, shrink, into)) {
    const auto key = stream(spec, index, values);
    return fill(*how, std::span(&key, 1), std::span(&into, 1));
  }
  if (!into.is_cpu()) {
    const auto here = empty(into.sizes().vec(), into.scalar_type());
    draw_input(problem, spec, index, shrink, here);
    into.copy_(here);
    return;
  }
  if (are_positions(input.values)) {
    store(index_values(problem, spec, index, layout_of(into).cols, count), dtype, into);
    return;
  }
  if (!is_floating(dtype)) {
    store(whole_values(problem, spec, index, dtype, patched(spec, into), count), dtype, into);
    leave_some(spec, index, into);
    return;
  }
  if (is_plain(problem, spec, index, shrink)) {
    draw_fast_normal(stream(spec, index, values), dtype, into);
    return;
  }
  std::vector<double> numbers(count);
  if (input.values == Values::angle) {
    fill_angles(spec, index, layout_of(into).cols, numbers);
  } else if (input.parameter) {
    fill_parameter(problem, spec, index, numbers);
  } else {
    numbers = real_values(problem, spec, index, dtype, patched(spec, into), count);
    if (shrink != 0) {
      for (auto& v : numbers) v = std::ldexp(v, -shrink);
    }
  }
  if (input.values == Values::positive) {
    const double least = least_positive(spec, dtype, shrink);
    for (auto& v : numbers) v = std::fabs(v) + least;
  }
  fill_real_marks(problem.inputs, spec, index, dtype, layout_of(into).cols, shrink != 0, numbers);
  store(numbers, dtype, into);
}

Tensors draw(const Problem& problem, const CaseSpec& spec, int shrink, at::Device where) {
  Tensors inputs;
  inputs.reserve(problem.inputs.size());
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    const auto& input = problem.inputs[i];
    inputs.push_back(empty(shape_of(input, problem, spec.axes),
                           scalar_type(dtype_of(input, spec.dtype)), where));
    draw_input(problem, spec, i, shrink, inputs.back());
  }
  return inputs;
}

void draw_inputs(const Problem& problem, std::span<const CaseSpec> specs,
                 std::span<const Tensors> into) {
  for (std::size_t index = 0; index < problem.inputs.size(); ++index) {
    std::optional<InPlace> how;
    std::vector<std::uint64_t> keys;
    std::vector<at::Tensor> together;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const auto& one = into[i][index];
      const auto own = in_place(problem, specs[i], index, 0, one);
      if (!own || (how && *how != *own)) {
        draw_input(problem, specs[i], index, 0, one);
        continue;
      }
      how = own;
      keys.push_back(stream(specs[i], index, values));
      together.push_back(one);
    }
    if (how) fill(*how, keys, together);
  }
}

}  // namespace ouroboros::judge
