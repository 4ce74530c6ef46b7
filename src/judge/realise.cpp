#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/where.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <cmath>

#include "judge/families.hpp"
#include "judge/judge.hpp"
#include "judge/random.hpp"
#include "judge/random_tensors.hpp"
#include "judge/run.hpp"
#include "judge/serial.hpp"
#include "judge/tensors.hpp"
#include "judge/tolerance.hpp"
#include "judge/whole.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::judge {
namespace {

constexpr std::int64_t serial_elements = 1 << 20;      ///< Larger cases may use LibTorch's threads.
constexpr int many_tries = 6;                          ///< Of roundings on the way.
constexpr std::int64_t many_tries_elements = 1 << 18;  ///< Larger cases have one.
constexpr double rounded_factor = 2.0;  ///< Of the largest error of an element in all tries.
constexpr int most_halvings = 24;       ///< Of inputs whose results overflow the case's dtype.

std::int64_t input_elements(const Problem& problem, const CaseSpec& spec) {
  std::int64_t elements = 0;
  for (const auto& buffer : input_buffers(problem, spec.dtype, spec.axes)) {
    elements += buffer.elements();
  }
  return elements;
}

void check_agreement(const Problem& problem, const CaseSpec& spec, const Tensors& reference,
                     const Tensors& oracle) {
  for (std::size_t i = 0; i < reference.size(); ++i) {
    if (reference[i].sizes() != oracle[i].sizes()) {
      throw ReferenceFault("the output '" + problem.outputs[i] +
                           "' has another shape in float64 than in the case's dtype" +
                           in_case(spec));
    }
    if (reference[i].is_floating_point() != oracle[i].is_floating_point()) {
      throw ReferenceFault("the output '" + problem.outputs[i] +
                           "' is an integer in one of float64 and the case's dtype alone" +
                           in_case(spec));
    }
  }
}

bool is_narrow(const at::Tensor& tensor) {
  return tensor.is_floating_point() && tensor.itemsize() < at::elementSize(at::kFloat);
}

/// What the reference makes of a case in float32; empty in float64, and for the rare reference that
/// does not work in another precision than its own.
Tensors in_single(const Problem& problem, const Case& one) {
  if (one.spec.dtype == DType::float64 || !is_floating(one.spec.dtype)) return {};
  // What rounds its results says little about how it came to them.
  if (one.spec.dtype == DType::float32 &&
      std::none_of(one.reference.begin(), one.reference.end(), is_narrow)) {
    return one.reference;
  }
  try {
    auto made = run_in_single(problem, one.spec, one.inputs);
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (made[i].sizes() != one.reference[i].sizes()) return {};
    }
    return made;
  } catch (const ReferenceFault&) {
    return {};
  }
}

/// Whether more than the last step was a rounding to the narrow type of the result: some error is
/// larger than a unit in the last place.
bool rounds_on_its_way(const at::Tensor& made, const at::Tensor& truth) {
  if (!is_narrow(made)) return false;
  const auto [epsilon, lowest_exponent] = format_of(*dtype_of(made.scalar_type()));
  const auto error = (made.to(at::kDouble) - truth).abs_();
  const auto step = truth.abs().clamp_min_(std::ldexp(1.0, lowest_exponent)).mul_(epsilon);
  return (error > step).any().item().toBool();
}

/// How far, relative, to inputs that round otherwise: eight steps of 16 bits, and still next to the
/// others in 8.
double next_to(DType dtype) noexcept { return std::min(8.0 * format_of(dtype).epsilon, 0x1p-4); }

/// What a case's products of matrices can have their factors rounded to; empty where they are in
/// more than 16 bits, or hidden in an oracle of the problem's own.
std::optional<at::ScalarType> narrow_factors(const Problem& problem, DType dtype) {
  const bool narrow = dtype == DType::float16 || dtype == DType::bfloat16;
  if (!narrow || problem.oracle) return std::nullopt;
  return scalar_type(dtype);
}

/// What roundings on the way do to each output.
struct RoundedWays {
  std::vector<Tensors> results;  ///< The true values with the errors of each try.
  Tensors largest;               ///< The largest such error of each element; undefined without any.
};

/// The errors of the oracle with the factors of its products rounded, as tensor cores want them;
/// and of a reference that rounds on its way, on inputs next to those of the case. One run says too
/// little of what such roundings may do to an element.
RoundedWays errors_again(const Problem& problem, const Case& one) {
  RoundedWays found{std::vector<Tensors>(one.oracle.size()), Tensors(one.oracle.size())};
  Inside rounding;
  rounding.factors = narrow_factors(problem, one.spec.dtype);
  bool rounds = false;
  bool multiplies = false;
  const auto rounded =
      rounding.factors ? run_oracle(problem, one.spec, raise(one.inputs), rounding) : one.oracle;
  for (std::size_t i = 0; i < one.oracle.size(); ++i) {
    rounds = rounds || rounds_on_its_way(one.reference[i], one.oracle[i]);
    multiplies = multiplies || !same_bits(rounded[i], one.oracle[i]);
  }
  if (!rounds && !multiplies) return found;
  const auto note = [&](const Tensors& made, const Tensors& truth) {
    for (std::size_t i = 0; i < truth.size(); ++i) {
      if (made[i].sizes() != one.oracle[i].sizes() || !is_narrow(one.reference[i])) continue;
      const auto narrow = made[i].to(one.reference[i].scalar_type());
      const auto error = narrow.to(at::kDouble).sub_(truth[i]);
      found.results[i].push_back(error + one.oracle[i]);
      const auto size = error.abs().nan_to_num_(0.0, 0.0);
      auto& largest = found.largest[i];
      largest = largest.defined() ? at::maximum(largest, size) : size;
    }
  };
  const int tries = input_elements(problem, one.spec) <= many_tries_elements ? many_tries : 1;
  for (int time = 0; time < tries; ++time) {
    const auto key = random::key(~one.spec.seed, 2000 + static_cast<std::uint64_t>(time));
    if (multiplies) {
      rounding.seed = key;
      note(run_oracle(problem, one.spec, raise(one.inputs), rounding), one.oracle);
    }
    if (rounds) {
      auto inputs = judge::moved(one.inputs, next_to(one.spec.dtype), false, key);
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        inputs[k] = inputs[k].to(one.inputs[k].scalar_type());
      }
      note(run_reference(problem, one.spec, inputs), run_oracle(problem, one.spec, raise(inputs)));
    }
  }
  return found;
}

/// Whether every element of the outputs is a function of the element of each input that has its
/// place, and of parameters: whether the others stay as they are, to the last bit, when half of all
/// elements change.
bool is_elementwise(const Problem& problem, const Case& one) {
  auto inputs = raise(one.inputs);
  const auto count = one.oracle.front().numel();
  const auto key = random::key(~one.spec.seed, 3000);
  const auto kept = random::bits(key, 0, count, place_of(one.inputs)).lt(0);
  bool changed = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (problem.inputs[i].parameter) continue;
    changed = true;
    if (!inputs[i].is_floating_point() || inputs[i].numel() != count) return false;
    const auto flat = inputs[i].view(-1);
    flat.copy_(at::where(kept, flat, flat * 1.5 + 0.25));
  }
  if (!changed) return false;
  const auto outputs = run_oracle(problem, one.spec, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].numel() != count || !outputs[i].is_floating_point()) return false;
    const auto same =
        outputs[i].view(-1).eq(one.oracle[i].view(-1)).logical_or_(kept.logical_not());
    if (!same.all().item().toBool()) return false;
  }
  return true;
}

/// Of how many terms a sum may be.
std::int64_t longest_sum(const Problem& problem, const Case& one) {
  std::int64_t longest = 1;
  for (const auto& input : one.inputs) {
    for (const auto extent : input.sizes()) longest = std::max(longest, extent);
  }
  return longest == 1 || is_elementwise(problem, one) ? 1 : longest;
}

void allow_close_calls(const Problem& problem, Case& one) {
  const auto allowed = allowed_for_integers(problem, one);
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    if (allowed[i].defined()) one.allowed[i] = allowed[i];
  }
}

/// Whether the reference leaves the range of its dtype where the true value is finite.
bool overflows(const Tensors& reference, const Tensors& oracle) {
  for (std::size_t k = 0; k < reference.size(); ++k) {
    if (!reference[k].is_floating_point()) continue;
    if (!reference[k].is_cpu()) {
      // Few operators know 8-bit floats.
      const auto made = reference[k].itemsize() == 1 ? reference[k].to(at::kFloat) : reference[k];
      const auto lost = at::isfinite(made).logical_not_().logical_and_(at::isfinite(oracle[k]));
      if (lost.any().item().toBool()) return true;
      continue;
    }
    const auto dtype = *dtype_of(reference[k].scalar_type());
    const auto* truth = oracle[k].const_data_ptr<double>();
    const auto count = reference[k].numel();
    const bool found = with_type(dtype, [&]<typename T>(T*) {
      const auto* made = static_cast<const T*>(reference[k].const_data_ptr());
      bool any = false;
      for (std::int64_t i = 0; i < count; ++i) {
        any |= std::isfinite(truth[i]) && !std::isfinite(static_cast<double>(made[i]));
      }
      return any;
    });
    if (found) return true;
  }
  return false;
}

}  // namespace

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

Case realise(const Problem& problem, const CaseSpec& spec, at::Device where) {
  const at::NoGradGuard no_grad;
  const at::NoTF32Guard no_tf32;
  const c10::OptionalDeviceGuard current(where);
  std::optional<Serial> serial;
  if (input_elements(problem, spec) <= serial_elements) {
    serial.emplace();
  } else {
    require_threads();
  }
  Case one;
  one.spec = spec;
  Tensors raised;
  for (int shrink = 0;; ++shrink) {
    one.inputs = draw(problem, spec, shrink, where);
    one.reference = run_reference(problem, spec, one.inputs);
    raised = raise(one.inputs);
    one.oracle = run_oracle(problem, spec, raised);
    check_agreement(problem, spec, one.reference, one.oracle);
    if (!overflows(one.reference, one.oracle)) break;
    if (spec.family == "normal" || shrink == most_halvings) {
      throw ReferenceFault(
          "the reference gives infinity or NaN where the true value is finite: leave this dtype "
          "out "
          "of the problem or make the reference stable" +
          in_case(spec));
    }
  }
  const auto again = run_reference(problem, spec, one.inputs);
  for (std::size_t i = 0; i < again.size(); ++i) {
    if (!same_bits(one.reference[i], again[i])) {
      throw ReferenceFault(
          "the reference is not deterministic: two runs on the same inputs differ "
          "in '" +
          problem.outputs[i] + "'" + in_case(spec));
    }
  }
  std::vector<Tensors> moved(one.oracle.size());
  const int times = perturbations_for(input_elements(problem, spec));
  for (int time = 0; time < times; ++time) {
    const auto key = random::key(~spec.seed, static_cast<std::uint64_t>(time));
    const auto outputs =
        run_oracle(problem, spec, judge::moved(one.inputs, perturbation, time == 0, key),
                   {perturbation, std::nullopt, random::key(key, 1000)});
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].sizes() != one.oracle[i].sizes()) {
        throw ReferenceFault("the shape of '" + problem.outputs[i] +
                             "' depends on the values of the inputs" + in_case(spec));
      }
      moved[i].push_back(outputs[i]);
    }
  }
  const auto single = in_single(problem, one);
  const auto rounded = errors_again(problem, one);
  const auto longest = longest_sum(problem, one);
  for (std::size_t i = 0; i < one.oracle.size(); ++i) {
    const auto rule = Tolerance::learn({spec.dtype, one.reference[i], rounded.results[i],
                                        i < single.size() ? single[i] : at::Tensor(), one.oracle[i],
                                        moved[i], longest});
    one.tolerances.push_back(std::make_shared<Tolerance>(rule));
    one.allowed.push_back(rule.allowed(one.oracle[i]));
    if (rounded.largest[i].defined()) {
      // Where terms cancel, elements of one size have errors of many.
      one.allowed[i] = at::maximum(one.allowed[i], rounded.largest[i].mul(rounded_factor));
    }
  }
  allow_close_calls(problem, one);
  return one;
}

Case realise_again(const Problem& problem, const Case& model, std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  const at::NoTF32Guard no_tf32;
  const c10::OptionalDeviceGuard current(place_of(model.reference));
  std::optional<Serial> serial;
  if (input_elements(problem, model.spec) <= serial_elements) {
    serial.emplace();
  } else {
    require_threads();
  }
  Case one;
  one.spec = model.spec;
  one.spec.seed = seed;
  one.inputs = draw(problem, one.spec, 0, place_of(model.reference));
  one.oracle = run_oracle(problem, one.spec, raise(one.inputs));
  for (std::size_t i = 0; i < one.oracle.size(); ++i) {
    one.reference.push_back(one.oracle[i].to(model.reference[i].scalar_type()));
    one.allowed.push_back(model.tolerances[i]->allowed(one.oracle[i]));
  }
  allow_close_calls(problem, one);
  one.tolerances = model.tolerances;
  return one;
}

void draw_inputs(const Problem& problem, const CaseSpec& spec, const Tensors& into) {
  for (std::size_t i = 0; i < into.size(); ++i) draw_input(problem, spec, i, 0, into[i]);
}

}  // namespace ouroboros::judge
