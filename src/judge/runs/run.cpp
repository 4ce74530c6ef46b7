#include "judge/runs/run.hpp"

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
#include "judge/base/declared.hpp"
#include "judge/base/random.hpp"
#include "judge/base/random_tensors.hpp"
#include "judge/base/tensors.hpp"
#include "judge/runs/inside.hpp"
#include "judge/runs/promote.hpp"
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

std::optional<Tensors> run_moved(const Problem& problem, const CaseSpec& spec, const Tensors& moved,
                                 const Inside& inside) {
  Inside still;
  still.given = inside.given;
  still.seed = inside.seed;
  still.most_calls = inside.most_calls;
  for (const auto* within : {&inside, &std::as_const(still)}) {
    try {
      return run_oracle(problem, spec, moved, *within);
    } catch (const ReferenceRaised&) {
      continue;
    }
  }
  return std::nullopt;
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

std::int64_t most_calls(const Case& one) noexcept {
  constexpr std::int64_t times = 64;  // Composed operators are taken apart, and loops may go on.
  constexpr std::int64_t few = 4096;
  return one.calls > 0 ? times * one.calls + few : 0;
}

void require_shape(const Problem& problem, const Case& one, std::size_t i,
                   const at::Tensor& output) {
  if (output.sizes() == one.reference[i].sizes()) return;
  throw ReferenceFault("the shape of '" + problem.outputs[i] +
                       "' depends on the values of the inputs, and not on their shapes alone" +
                       in_case(one.spec));
}

bool is_finite(const Tensors& oracle) {
  return std::all_of(oracle.begin(), oracle.end(), [](const at::Tensor& truth) {
    return !truth.is_floating_point() || at::isfinite(truth).all().item().toBool();
  });
}

}  // namespace ouroboros::judge
