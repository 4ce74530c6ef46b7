#include "judge/values/real_values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "judge/base/random.hpp"
#include "judge/base/tensors.hpp"
#include "judge/values/exponents.hpp"
#include "judge/values/mixtures.hpp"
#include "judge/values/row_shaper.hpp"
#include "judge/values/streams.hpp"

namespace ouroboros::judge {
namespace {

/// A large number in a few rows, at one place, where all rows of the first input have one too. A
/// score of the two, scaled as an attention's, lies 8 to 16 above all others, which add up to
/// something however far below they are. How far is the same for neighbours: they share a tile.
void add_sinks(const Problem& problem, const CaseSpec& spec, std::size_t input,
               const Layout& layout, std::vector<double>& numbers) {
  constexpr std::size_t neighbours = 128;
  constexpr double least = 8.0;
  const auto inputs = scoring(problem);
  if (std::ranges::find(inputs, input) == inputs.end()) return;
  const auto place = random::below(stream(spec, 0, kinds), 3, layout.cols);
  const auto one_in = std::clamp<std::uint64_t>(layout.rows / 4, 4, 256);
  const double high = std::sqrt(least * std::sqrt(static_cast<double>(layout.cols)));
  for (std::size_t row = 0; row < layout.rows; ++row) {
    double& v = numbers[row * layout.cols + place];
    if (input == inputs.front()) {
      v = high * (1.0 + random::uniform(stream(spec, input, levels), row / neighbours));
    } else {
      v = random::below(stream(spec, input, choices), row, one_in) == 0 ? high : 0.0;
    }
  }
}

}  // namespace

std::vector<std::size_t> data_of(const Problem& problem) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    const auto& input = problem.inputs[i];
    if (input.values == Values::real && !input.parameter && input.dtype != DType::boolean) {
      found.push_back(i);
    }
  }
  return found;
}

std::optional<std::size_t> chosen_of_data(const Problem& problem, const CaseSpec& spec) {
  const auto data = data_of(problem);
  if (data.size() < 2) return std::nullopt;
  return data[static_cast<std::size_t>(spec.id) % data.size()];
}

bool is_alone(const Problem& problem) { return data_of(problem).size() == 1; }

std::optional<std::size_t> twin_of(const Problem& problem, std::size_t input) {
  const auto extent = [](const Dim& dim) { return std::pair(dim.scale, dim.axis); };
  const auto& one = problem.inputs[input];
  for (std::size_t i = 0; i < input; ++i) {
    const auto& other = problem.inputs[i];
    if (one.values == Values::real && other.values == Values::real && !one.parameter &&
        !other.parameter && one.dtype == other.dtype &&
        std::ranges::equal(one.shape, other.shape, {}, extent, extent)) {
      return i;
    }
  }
  return std::nullopt;
}

std::vector<std::size_t> scoring(const Problem& problem) {
  const auto is_one = [&](std::size_t i) {
    const auto& input = problem.inputs[i];
    return input.values == Values::real && !input.parameter && input.shape.size() >= 2;
  };
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    if (!is_one(i)) continue;
    const auto& length = problem.inputs[i].shape.back();
    std::vector<std::size_t> found;
    for (std::size_t j = i; j < problem.inputs.size(); ++j) {
      const auto& other = problem.inputs[j].shape.back();
      if (is_one(j) && other.axis == length.axis && other.scale == length.scale) found.push_back(j);
    }
    if (found.size() >= 2) return found;
  }
  return {};
}

std::vector<double> real_values(const Problem& problem, const CaseSpec& spec, std::size_t input,
                                DType dtype, const Layout& layout, std::size_t count) {
  std::vector<double> out(count);
  const auto from = spec.family == "twins" ? twin_of(problem, input).value_or(input) : input;
  const auto key = stream(spec, from, values);
  if (dtype == DType::float64) {
    random::normal(key, std::span<double>(out));
  } else {
    std::vector<float> floats(count);
    random::normal(key, std::span<float>(floats));
    std::copy(floats.begin(), floats.end(), out.begin());
  }
  auto power = exponents_of(dtype);
  if (is_alone(problem)) {
    power.mixed_high = power.tallest - 2;  // Times up to 3.5.
  } else {
    power.tallest = power.overflow;
    power.depth = power.mean;
    power.deeper = 0;
  }
  // Numbers that are halved until a result stays in its range are so in all rows.
  if (is_mixture(spec)) power.deeper = 0;
  const bool scores = spec.scores && dtype != DType::float64;
  if (scores) power = of_scores(power);
  // A single row is of any kind, in all inputs of the same.
  const bool single = layout.rows == 1 && !is_mixture(spec);
  const auto kind = single ? random::below(stream(spec, 0, kinds), 0, 64) : 0;
  RowShaper shaper{layout, power, stream(spec, input, choices), stream(spec, input, levels),
                   kind,   out};
  if (spec.family == "scattered") {
    shaper.scatter();
    // Infinity is another family's.
    const double finite = with_type(
        dtype, []<typename T>(T*) { return static_cast<double>(std::numeric_limits<T>::max()); });
    const double largest = scores ? std::min(finite, largest_to_score) : finite;
    for (double& v : out) v = std::clamp(v, -largest, largest);
    return out;
  }
  if (spec.family == "twins" && from == input) return out;
  // Who asks of one tensor whether all is finite asks too little.
  if (spec.family.starts_with("lone_") && chosen_of_data(problem, spec).value_or(input) != input) {
    return out;
  }
  if (spec.family == "sink") {
    add_sinks(problem, spec, input, layout, out);
    return out;
  }
  if (spec.family != "patchwork") {
    shaper.shape(spec.family, 0, layout.rows);
    if (spec.family == "uniform" && layout.rows >= 4) {
      // Who looks whether rows are alike finds the first ones so.
      const auto alike = 2 + random::below(stream(spec, 0, kinds), 1, layout.rows / 2 - 1);
      const auto row = static_cast<std::ptrdiff_t>(layout.cols);
      for (std::ptrdiff_t i = 1; i < static_cast<std::ptrdiff_t>(std::min<std::size_t>(alike, 8));
           ++i) {
        std::copy_n(out.begin(), row, out.begin() + i * row);
      }
    }
    return out;
  }
  // Of a family's rows, wherever they stand, each is of the next kind.
  const auto first = random::below(stream(spec, input, kinds), 4, 64);
  for (std::size_t row = 0; row < layout.rows; ++row) {
    const auto patch = patch_of(spec, input, row);
    shaper.kind = (patch << 32) + first + row / patches.size() - row;
    shaper.shape(patches[patch], row, row + 1);
  }
  return out;
}

double least_positive(const CaseSpec& spec, DType dtype, int shrink) {
  const bool small = spec.family == "tiny" || spec.family == "mixed" || is_mixture(spec);
  if (!small) return 0x1p-6;
  // Quotients that overflow want larger divisors.
  return std::ldexp(1.0, std::min(-6, exponents_of(dtype).tiniest + 4 * shrink));
}

}  // namespace ouroboros::judge
