#include "judge/values/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "judge/base/random.hpp"
#include "judge/values/streams.hpp"

namespace ouroboros::judge {
namespace {

/// So few of them are far from one together: one by one that would be seldom.
constexpr std::size_t few = 8;

/// But for one number they do nothing, as layers begin: the first weight of ones, others of zeros.
/// A single one does nothing in half of the cases.
void fill_idle(const Problem& problem, const CaseSpec& spec, std::size_t input,
               std::vector<double>& out) {
  const auto first = std::ranges::find_if(problem.inputs, &Input::parameter);
  std::ranges::fill(out, &*first == &problem.inputs[input] ? 1.0 : 0.0);
  const auto choice = stream(spec, input, choices);
  if (out.size() == 1 && random::bits(choice, 1) % 2 != 0) return;
  out[random::below(choice, 0, out.size())] = -1.25;
}

void fill_weights(const CaseSpec& spec, std::size_t input, std::vector<double>& out) {
  // Near plus or minus one: of zero mean, far from zero, and no two alike. That shows a weight that
  // is left out as well as a bias that is.
  const auto key = stream(spec, input, values);
  const auto sign = stream(spec, input, choices);
  random::normal(key, std::span<double>(out));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double magnitude = 1.0 + 0.125 * out[i];
    const auto bits = random::bits(sign, i);
    out[i] = (bits & 1U) != 0 ? magnitude : -magnitude;
    // One in sixteen far from one: a clamp of the others is seen.
    if ((bits >> 1 & 15U) == 0) out[i] = std::ldexp(out[i], static_cast<int>(bits >> 8 & 7U) - 4);
  }
  const auto together = random::bits(stream(spec, input, levels), 1);
  if (out.size() <= few && spec.family != "normal" && together % 2 == 0) {
    const auto power = static_cast<int>(together >> 8 & 7U) - 4;
    for (double& v : out) v = std::ldexp(v, power);
  }
  // In half of the cases what does nothing stands where one might look whether all do nothing: ones
  // or zeros at both ends and in the middle, a scalar that is nearly one.
  constexpr std::size_t looked_at = 3;
  const auto kind = random::below(stream(spec, input, levels), 0, 4);
  if (kind >= 2) return;
  const double idle = kind == 0 ? 1.0 : 0.0;
  if (out.size() == 1 && kind == 0) {
    out[0] = 1.0 + std::ldexp(out[0], -7);
  } else if (out.size() > 4 * looked_at) {
    std::fill_n(out.begin(), looked_at, idle);
    std::fill_n(out.end() - looked_at, looked_at, idle);
    out[out.size() / 2] = idle;
  }
}

}  // namespace

void fill_angles(const CaseSpec& spec, std::size_t input, std::size_t cols,
                 std::vector<double>& out) {
  const auto key = stream(spec, input, values);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = 2.0 * random::uniform(key, i) - 1.0;
  // As tables of cosines and sines begin, in half of the cases: with ones or zeros.
  const auto bits = random::bits(stream(spec, 0, kinds), 2);
  if (spec.family != "normal" && (bits & 1U) != 0) {
    std::fill_n(out.begin(), std::min(cols, out.size()),
                static_cast<double>(bits >> (1 + input) & 1U));
  }
}

void fill_parameter(const Problem& problem, const CaseSpec& spec, std::size_t input,
                    std::vector<double>& out) {
  if (spec.family == "idle") return fill_idle(problem, spec, input, out);
  fill_weights(spec, input, out);
}

}  // namespace ouroboros::judge
