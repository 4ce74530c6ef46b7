#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/isfinite.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include "base/room.hpp"
#include "judge/families.hpp"
#include "judge/judge.hpp"
#include "judge/random.hpp"
#include "judge/random_tensors.hpp"
#include "judge/run.hpp"
#include "judge/serial.hpp"
#include "judge/tensors.hpp"
#include "judge/tolerance.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::judge {
namespace {

constexpr std::int64_t serial_elements = 1 << 20;  ///< Larger cases may use LibTorch's threads.
constexpr int most_halvings = 12;  ///< Of inputs whose results overflow the case's dtype.

std::string in_case(const CaseSpec& spec) {
  return " (dtype " + std::string(to_string(spec.dtype)) + ", family " + spec.family + ")";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Runs something of the problem's and turns what it throws into a fault of the problem.
template <typename Function>
Tensors guarded(const std::string& what, const CaseSpec& spec, Function&& function) {
  const auto fault = [&](const std::string& message) {
    if (is_want_of_memory(message)) {
      throw Error(ErrorCode::out_of_memory, "the " + what + " ran out of memory" + in_case(spec));
    }
    throw ReferenceFault("the " + what + " raised: " + first_line(message) + in_case(spec));
  };
  try {
    return function();
  } catch (const ReferenceFault&) {
    throw;
  } catch (const Error&) {
    throw;  // Of the library or of its bindings: cancelled, say.
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::out_of_memory, "the " + what + " ran out of memory" + in_case(spec));
  } catch (const c10::Error& error) {
    fault(error.what_without_backtrace());
  } catch (const std::exception& error) {
    fault(error.what());
  }
  return {};
}

/// Checks results of the reference and makes them contiguous.
Tensors accepted(const Problem& problem, const std::string& what, const CaseSpec& spec,
                 at::Device where, const Tensors& made) {
  if (made.size() != problem.outputs.size()) {
    throw ReferenceFault("the " + what + " returned " + std::to_string(made.size()) +
                         " tensors, but the problem names " +
                         std::to_string(problem.outputs.size()) + " outputs" + in_case(spec));
  }
  Tensors out;
  out.reserve(made.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    const auto& tensor = made[i];
    const auto refuse = [&](const std::string& why) {
      throw ReferenceFault("the " + what + " returned '" + problem.outputs[i] + "' " + why +
                           in_case(spec));
    };
    if (!tensor.defined()) refuse("as no tensor at all");
    if (tensor.device() != where) {
      refuse("on the device " + tensor.device().str() + ", not on its inputs' " + where.str());
    }
    if (tensor.layout() != at::kStrided) refuse("as a sparse tensor");
    if (!dtype_of(tensor.scalar_type())) {
      refuse(std::string("with the unsupported dtype ") + c10::toString(tensor.scalar_type()));
    }
    out.push_back(tensor.detach().resolve_neg().contiguous());
  }
  return out;
}

Tensors copies(const Tensors& tensors) {
  Tensors out;
  out.reserve(tensors.size());
  for (const auto& tensor : tensors) out.push_back(tensor.clone());
  return out;
}

/// True values in float64 (integers in int64), from inputs that are in float64 already.
Tensors run_oracle(const Problem& problem, const CaseSpec& spec, const Tensors& raised) {
  Tensors made;
  if (problem.oracle) {
    made = guarded("oracle", spec, [&] { return problem.oracle(raised); });
  } else {
    made =
        guarded("reference in float64", spec, [&] { return promoted(problem.reference, raised); });
  }
  const std::string what = problem.oracle ? "oracle" : "reference in float64";
  auto out = accepted(problem, what, spec, place_of(raised), made);
  for (auto& tensor : out) {
    tensor = tensor.to(tensor.is_floating_point() ? at::kDouble : at::kLong);
  }
  return out;
}

Tensors raise(const Tensors& inputs) {
  Tensors out;
  out.reserve(inputs.size());
  for (const auto& input : inputs) {
    // A copy in any case: an oracle that writes to its inputs must not reach the originals.
    out.push_back(input.is_floating_point() ? input.to(at::kDouble, false, true) : input.clone());
  }
  return out;
}

/// Moves every real number by `perturbation` relative, up or down: at random, or all of them up,
/// which is how the roundings of a long sum may well fall.
Tensors perturbed(const Tensors& inputs, bool together, std::uint64_t seed) {
  auto out = raise(inputs);
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (!out[k].is_floating_point()) continue;
    const auto key = random::key(seed, k);
    const auto count = out[k].numel();
    if (!out[k].is_cpu()) {
      auto factors = at::full_like(out[k], 1.0 + perturbation);
      if (!together) {
        const auto up = random::bits(key, 0, count, out[k].device()).lt_(0).to(at::kBool);
        factors.view(-1).masked_fill_(up.logical_not_(), 1.0 - perturbation);
      }
      out[k].mul_(factors);
      continue;
    }
    auto* values = out[k].mutable_data_ptr<double>();
    for (std::int64_t i = 0; i < count; ++i) {
      const auto bits = random::bits(key, static_cast<std::uint64_t>(i));
      values[i] *= together || (bits >> 63) != 0 ? 1.0 + perturbation : 1.0 - perturbation;
    }
  }
  return out;
}

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

/// What the reference makes of a case in float32; empty in float64, and for the rare reference that
/// works in 16 bits and not in float32.
Tensors in_single(const Problem& problem, const Case& one) {
  if (one.spec.dtype != DType::float16 && one.spec.dtype != DType::bfloat16) {
    return one.spec.dtype == DType::float32 ? one.reference : Tensors{};
  }
  Tensors inputs;
  for (const auto& input : one.inputs) {
    inputs.push_back(input.is_floating_point() ? input.to(at::kFloat) : input);
  }
  try {
    auto made = run_reference(problem, one.spec, inputs);
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (made[i].sizes() != one.reference[i].sizes()) return {};
    }
    return made;
  } catch (const ReferenceFault&) {
    return {};
  }
}

/// Whether the reference leaves the range of its dtype where the true value is finite.
bool overflows(const Tensors& reference, const Tensors& oracle) {
  for (std::size_t k = 0; k < reference.size(); ++k) {
    if (!reference[k].is_floating_point()) continue;
    if (!reference[k].is_cpu()) {
      const auto lost =
          at::isfinite(reference[k]).logical_not_().logical_and_(at::isfinite(oracle[k]));
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

Tensors run_reference(const Problem& problem, const CaseSpec& spec, const Tensors& inputs) {
  const auto given = copies(inputs);
  auto made = accepted(problem, "reference", spec, place_of(inputs),
                       guarded("reference", spec, [&] { return problem.reference(given); }));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!same_bits(inputs[i], given[i])) {
      throw ReferenceFault("the reference writes to its input '" + problem.inputs[i].name +
                           "': let it work on a copy" + in_case(spec));
    }
  }
  return made;
}

bool is_want_of_memory(std::string_view message) {
  const auto words = {"not enough memory", "can't allocate memory", "out of memory", "bad_alloc"};
  const auto said = [message](const char* one) { return message.find(one) != message.npos; };
  if (std::any_of(words.begin(), words.end(), said)) return true;
  // Without memory LibTorch cannot even write its messages: one of them ends at "[enforce fail a".
  constexpr std::size_t enough = std::size_t{32} << 20;
  return !has_room(enough);
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
    const auto outputs = run_oracle(problem, spec, perturbed(one.inputs, time == 0, key));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].sizes() != one.oracle[i].sizes()) {
        throw ReferenceFault("the shape of '" + problem.outputs[i] +
                             "' depends on the values of the inputs" + in_case(spec));
      }
      moved[i].push_back(outputs[i]);
    }
  }
  std::int64_t longest = 1;
  for (const auto& input : one.inputs) {
    for (const auto extent : input.sizes()) longest = std::max(longest, extent);
  }
  const auto single = in_single(problem, one);
  for (std::size_t i = 0; i < one.oracle.size(); ++i) {
    const auto rule = Tolerance::learn({spec.dtype, one.reference[i],
                                        i < single.size() ? single[i] : at::Tensor(), one.oracle[i],
                                        moved[i], longest});
    one.tolerances.push_back(std::make_shared<Tolerance>(rule));
    one.allowed.push_back(rule.allowed(one.oracle[i]));
  }
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
  one.tolerances = model.tolerances;
  return one;
}

void draw_inputs(const Problem& problem, const CaseSpec& spec, const Tensors& into) {
  for (std::size_t i = 0; i < into.size(); ++i) draw_input(problem, spec, i, 0, into[i]);
}

}  // namespace ouroboros::judge
