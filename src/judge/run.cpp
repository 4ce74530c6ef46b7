#include "judge/run.hpp"

#include <ATen/ops/isfinite.h>
#include <ATen/ops/where.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <exception>
#include <new>
#include <utility>

#include "base/room.hpp"
#include "judge/declared.hpp"
#include "judge/random.hpp"
#include "judge/random_tensors.hpp"
#include "judge/tensors.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::judge {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Runs something of the problem's and turns what it throws into a fault of the problem.
template <typename Function>
Tensors guarded(const std::string& what, const CaseSpec& spec, Function&& function) {
  const auto fault = [&](const std::string& message) {
    if (is_want_of_memory(message)) {
      throw Error(ErrorCode::out_of_memory, "the " + what + " ran out of memory" + in_case(spec));
    }
    const auto hint = message.find("does not require grad") == message.npos
                          ? ""
                          : ". It runs without autograd: differentiate under torch.enable_grad()";
    throw ReferenceRaised("the " + what + " raised: " + first_line(message) + hint + in_case(spec));
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
                         std::to_string(problem.outputs.size()) + " outputs: name one for each" +
                         in_case(spec));
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

/// Equal numbers of two inputs are to move alike.
std::uint64_t key_of_moves(Moves moves, std::uint64_t seed, std::size_t input) {
  return random::key(seed, moves == Moves::by_value ? 0 : input);
}

Tensors copies(const Tensors& tensors) {
  Tensors out;
  out.reserve(tensors.size());
  for (const auto& tensor : tensors) out.push_back(tensor.clone());
  return out;
}

}  // namespace

std::string in_case(const CaseSpec& spec) {
  std::string text = " (dtype " + std::string(to_string(spec.dtype));
  for (const auto& [axis, extent] : spec.axes) text += ", " + axis + " = " + std::to_string(extent);
  return text + ", family " + family_name(spec) + ")";
}

std::int64_t input_elements(const Problem& problem, const CaseSpec& spec) {
  std::int64_t elements = 0;
  for (const auto& buffer : input_buffers(problem, spec.dtype, spec.axes)) {
    elements += buffer.elements();
  }
  return elements;
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

Tensors run_oracle(const Problem& problem, const CaseSpec& spec, const Tensors& raised,
                   const Inside& inside) {
  Tensors made;
  if (problem.oracle) {
    made = guarded("oracle", spec, [&] { return problem.oracle(raised); });
  } else {
    const Declared declared(problem, spec.dtype);
    made = guarded("reference in float64", spec,
                   [&] { return promoted(problem.reference, raised, at::kDouble, inside); });
  }
  const std::string what = problem.oracle ? "oracle" : "reference in float64";
  auto out = accepted(problem, what, spec, place_of(raised), made);
  for (auto& tensor : out) {
    tensor = tensor.to(tensor.is_floating_point() ? at::kDouble : at::kLong);
  }
  return out;
}

Tensors run_unrounded(const Problem& problem, const CaseSpec& spec, const Tensors& inputs,
                      const Inside& inside) {
  const auto given = copies(inputs);
  const bool wide = spec.dtype == DType::float64;
  const std::string what = wide ? "reference in float64" : "reference in float32";
  const Declared declared(problem, spec.dtype);
  return accepted(problem, what, spec, place_of(inputs), guarded(what, spec, [&] {
                    return promoted(problem.reference, given, wide ? at::kDouble : at::kFloat,
                                    inside);
                  }));
}

bool is_finite(const Tensors& oracle) {
  return std::all_of(oracle.begin(), oracle.end(), [](const at::Tensor& truth) {
    return !truth.is_floating_point() || at::isfinite(truth).all().item().toBool();
  });
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

Tensors moved(const Tensors& inputs, double by, Moves moves, std::uint64_t seed) {
  if (!place_of(inputs).is_cpu()) return moved_by_operators(inputs, by, moves, seed);
  auto out = raise(inputs);
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (!out[k].is_floating_point() || is_mask(out[k])) continue;
    const auto key = key_of_moves(moves, seed, k);
    const auto count = out[k].numel();
    auto* values = out[k].mutable_data_ptr<double>();
    if (moves == Moves::together || moves == Moves::up) {
      // Zeros keep their sign.
      for (std::int64_t i = 0; i < count; ++i) {
        values[i] *= moves == Moves::up && values[i] < 0.0 ? 1.0 - by : 1.0 + by;
      }
      continue;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const auto place = moves == Moves::by_value
                             ? std::bit_cast<std::uint64_t>(std::fabs(values[i]))
                             : static_cast<std::uint64_t>(i);
      const auto bits = random::bits(key, place);
      const double far = static_cast<double>(bits & 0xffff) * (by * 0x1p-17) + 0.75 * by;
      // No branch: half of them would be foretold wrongly.
      constexpr std::uint64_t sign = std::uint64_t{1} << 63;
      values[i] *= 1.0 + std::bit_cast<double>(std::bit_cast<std::uint64_t>(far) ^ (~bits & sign));
    }
  }
  return out;
}

Tensors moved_by_operators(const Tensors& inputs, double by, Moves moves, std::uint64_t seed) {
  auto out = raise(inputs);
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (!out[k].is_floating_point() || is_mask(out[k])) continue;
    if (moves == Moves::together || moves == Moves::up) {
      if (moves == Moves::up) {
        out[k].mul_(out[k].sign().mul_(by).add_(1.0));
      } else {
        out[k].mul_(1.0 + by);
      }
      continue;
    }
    const auto key = key_of_moves(moves, seed, k);
    const auto flat = out[k].view(-1);
    const auto drawn = moves == Moves::by_value ? random::bits(key, flat.abs().view(at::kLong))
                                                : random::bits(key, 0, flat.numel(), flat.device());
    auto factors = drawn.bitwise_and(0xffff).to(at::kDouble).mul_(by * 0x1p-17).add_(0.75 * by);
    factors = at::where(drawn.lt(0), factors, -factors).add_(1.0);
    flat.mul_(factors);
  }
  return out;
}

}  // namespace ouroboros::judge
