#include <ATen/core/grad_mode.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/base/full_precision.hpp"
#include "judge/base/moved.hpp"
#include "judge/base/random.hpp"
#include "judge/base/serial.hpp"
#include "judge/base/tensors.hpp"
#include "judge/judge.hpp"
#include "judge/orders/loops.hpp"
#include "judge/orders/walk.hpp"
#include "judge/runs/complements.hpp"
#include "judge/runs/inside.hpp"
#include "judge/runs/logistic.hpp"
#include "judge/runs/run.hpp"
#include "judge/tolerance/close_calls.hpp"
#include "judge/tolerance/copies.hpp"
#include "judge/tolerance/crossings.hpp"
#include "judge/tolerance/large_products.hpp"
#include "judge/tolerance/longest_sum.hpp"
#include "judge/tolerance/roundings.hpp"
#include "judge/tolerance/tolerance.hpp"
#include "judge/values/families.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::judge {
namespace {

constexpr std::int64_t serial_elements = 1 << 20;  ///< Larger cases may use LibTorch's threads.
/// Larger cases add in the first and in the last order alone.
constexpr std::int64_t many_orders_elements = 1 << 18;
constexpr std::int64_t copies_elements = 1 << 20;  ///< Larger cases are not searched for copies.
/// Of the largest error of an element in all tries. A seventh normal error is more than four times
/// the largest of six once in 1600 times, and more than twice it once in 60.
constexpr double rounded_factor = 4.0;
constexpr int most_halvings = 24;  ///< Of inputs whose results overflow the case's dtype.
constexpr int few_halvings = 8;    ///< Of inputs whose true results are infinite.

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

/// Before anything else is asked of it, which random numbers would answer with something else.
void check_determinism(const Problem& problem, const Case& one) {
  const auto again = run_reference(problem, one.spec, one.inputs);
  for (std::size_t i = 0; i < again.size(); ++i) {
    if (!same_bits(one.reference[i], again[i])) {
      throw ReferenceFault(
          "the reference is not deterministic: two runs on the same inputs differ "
          "in '" +
          problem.outputs[i] + "'" + in_case(one.spec));
    }
  }
}

/// What the reference makes of a case where it rounds to nothing lower; empty for the rare one that
/// does not work in another precision than its own.
Tensors unrounded(const Problem& problem, const Case& one, const Inside& inside = {}) {
  try {
    auto made = run_unrounded(problem, one.spec, one.inputs, inside);
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (made[i].sizes() != one.reference[i].sizes()) return {};
    }
    return made;
  } catch (const ReferenceFault&) {
    return {};
  }
}

/// What the reference makes where it rounds to nothing lower; no run that is empty.
struct Unrounded {
  std::vector<Tensors> singles;  ///< In float32.
  std::vector<Tensors> loops;    ///< With plain loops for its sums, and other orders.
  bool left_range = false;       ///< In one of these orders.
  /// Of the longest sum that is none of these; 0 where it is not known how all of it adds, and for
  /// cases in float64 or integers, whose errors grow in any case.
  std::int64_t terms = 0;
};

/// Of each output, by its first result of inputs that moved by place.
std::vector<Copies> find_copies(const Problem& problem, const Case& one,
                                const std::vector<Tensors>& moved) {
  constexpr std::size_t by_place = 1;  // After one in which all inputs move together.
  std::vector<Copies> found(one.oracle.size(), Copies::no);
  if (!place_of(one.inputs).is_cpu()) return found;
  const bool searched = input_elements(problem, one.spec.axes) <= copies_elements;
  Tensors inputs;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!may_copy(one, i)) continue;
    if (searched && inputs.empty()) {
      inputs = judge::moved(one.inputs, perturbation, Moves::by_place,
                            random::key(~one.spec.seed, by_place));
    }
    found[i] = searched ? copies_of(one, i, moved[i][by_place], inputs) : Copies::perhaps;
  }
  return found;
}

Unrounded without_roundings(const Problem& problem, const Case& one) {
  Unrounded found;
  const auto is_real = [](const at::Tensor& tensor) { return tensor.is_floating_point(); };
  if (std::ranges::none_of(one.oracle, is_real) && std::ranges::none_of(one.inputs, is_real)) {
    return found;
  }
  const bool wide = one.spec.dtype == DType::float64;
  // What rounds its results says little about how it came to them.
  const bool rounds = one.spec.dtype != DType::float32 ||
                      std::any_of(one.reference.begin(), one.reference.end(), is_narrow);
  auto made = wide ? Tensors() : rounds ? unrounded(problem, one) : one.reference;
  if (!made.empty()) found.singles.push_back(std::move(made));
  if (!place_of(one.inputs).is_cpu()) return found;
  const int step = input_elements(problem, one.spec.axes) <= many_orders_elements ? 1 : orders - 1;
  for (int order = 0; order < orders; order += step) {
    Loops loops{order};
    Inside inside;
    inside.loops = &loops;
    inside.most_calls = most_calls(one);
    auto run = unrounded(problem, one, inside);
    const bool known = loops.all && !run.empty() && is_floating(one.spec.dtype) && !wide;
    found.terms = known ? loops.terms : 0;
    if (run.empty() || !loops.any) break;
    found.left_range = found.left_range || loops.left_range;
    found.loops.push_back(std::move(run));
  }
  return found;
}

Tensors output_of(const std::vector<Tensors>& runs, std::size_t output) {
  Tensors out;
  for (const auto& run : runs) out.push_back(run[output]);
  return out;
}

/// Where the reference leaves the range of its dtype though the true value is finite.
at::Tensor lost_elements(const at::Tensor& reference, const at::Tensor& oracle) {
  // Few operators know 8-bit floats.
  const auto made = reference.itemsize() == 1 ? reference.to(at::kFloat) : reference;
  return at::isfinite(made).logical_not_().logical_and_(at::isfinite(oracle));
}

/// Where there is no true value, as of zero divided by zero, and yet something that was made in the
/// reference's dtype is a number: what is zero there is not so to whoever rounds.
at::Tensor undefined_elements(const Tensors& made, const at::Tensor& oracle) {
  auto undefined = at::zeros_like(oracle, at::kBool);
  for (const auto& one : made) undefined.logical_or_(at::isfinite(one.to(at::kDouble)));
  return undefined.logical_and_(at::isfinite(oracle).logical_not_());
}

std::int64_t count_lost(const Tensors& reference, const Tensors& oracle) {
  std::int64_t lost = 0;
  for (std::size_t k = 0; k < reference.size(); ++k) {
    if (!reference[k].is_floating_point()) continue;
    if (!reference[k].is_cpu()) {
      lost += lost_elements(reference[k], oracle[k]).sum().item().toLong();
      continue;
    }
    const auto* truth = oracle[k].const_data_ptr<double>();
    const auto count = reference[k].numel();
    with_type(*dtype_of(reference[k].scalar_type()), [&]<typename T>(T*) {
      const auto* made = static_cast<const T*>(reference[k].const_data_ptr());
      for (std::int64_t i = 0; i < count; ++i) {
        lost += std::isfinite(truth[i]) && !std::isfinite(static_cast<double>(made[i]));
      }
    });
  }
  return lost;
}

/// Whether the dtype holds numbers of that size.
bool is_within(DType dtype, const at::Tensor& oracle) {
  const double largest = with_type(
      dtype, []<typename T>(T*) { return static_cast<double>(std::numeric_limits<T>::max()); });
  const auto [least, most] = at::aminmax(oracle);
  return -largest <= least.item().toDouble() && most.item().toDouble() <= largest;
}

/// Allows anything where nobody can be held to a number.
void ask_nothing_beyond_range(Case& one, std::size_t output, const Unrounded& free) {
  const auto& reference = one.reference[output];
  const auto& oracle = one.oracle[output];
  if (!reference.is_floating_point() || reference.numel() == 0) return;
  const auto allow = [&](const at::Tensor& elements) {
    one.allowed[output].masked_fill_(elements, std::numeric_limits<double>::infinity());
  };
  if (one.lost > 0) allow(lost_elements(reference, oracle));
  // Who is nearest to what the dtype does not hold has infinity, or its largest number.
  if (!is_within(*dtype_of(reference.scalar_type()), oracle)) {
    allow(lost_elements(oracle.to(reference.scalar_type()), oracle));
  }
  auto made = output_of(free.loops, output);
  if (free.left_range) {
    for (const auto& loop : made) allow(lost_elements(loop, oracle));
  }
  if (is_finite({oracle}) || !is_finite(one.inputs)) return;
  made.push_back(reference);
  const auto singles = output_of(free.singles, output);
  made.insert(made.end(), singles.begin(), singles.end());
  allow(undefined_elements(made, oracle));
}

/// Whether inputs in eight bits may be multiplied with one another.
bool multiplies_eight_bits(const Problem& problem) {
  return std::ranges::count_if(problem.inputs, [](const Input& input) {
           return input.dtype && is_floating(*input.dtype) && size_of(*input.dtype) == 1;
         }) > 1;
}

/// Of products of matrices. One that leaves the range of its dtype is infinite, which a reference
/// may survive (a softmax makes zero of minus infinity) where an honest kernel does not.
double largest_of(DType dtype) {
  if (!is_floating(dtype) || size_of(dtype) == 1) return std::numeric_limits<double>::infinity();
  return with_type(
      dtype, []<typename T>(T*) { return static_cast<double>(std::numeric_limits<T>::max()); });
}

/// Where all that is given lies below the normal range of a dtype that one computes in, where every
/// operation rounds to a whole step: how many times larger what is made of it is.
double gain_of(const Problem& problem, const Case& one, const at::Tensor& oracle) {
  double given = 0.0;
  for (std::size_t i = 0; i < one.inputs.size(); ++i) {
    const auto& input = problem.inputs[i];
    if (input.parameter || input.values != Values::real) continue;
    const auto& x = one.inputs[i];
    if (!x.is_floating_point() || x.itemsize() < 4 || x.numel() == 0) return 1.0;
    given = std::max(given, x.abs().max().item().toDouble());
  }
  const auto lowest = std::ldexp(1.0, format_of(one.spec.dtype).lowest_exponent);
  if (!(given > 0.0 && given < lowest) || !oracle.is_floating_point() || oracle.numel() == 0) {
    return 1.0;
  }
  const double made = oracle.abs().nan_to_num(0.0, 0.0, 0.0).max().item().toDouble();
  return std::clamp(made / given, 1.0, 0x1p20);
}

/// What the oracle's run said of itself.
struct Seen {
  Tensors raised;  ///< The inputs, in the oracle's dtypes.
  std::int64_t most_terms = 1;
  std::int64_t longest_added = 1;
  double product = 0;
  Logistic logistic;
};

void run_and_watch(const Problem& problem, Case& one, Seen& seen) {
  seen.raised = raise(one.inputs);
  seen.product = 0;
  Inside watching;
  watching.most_terms = &seen.most_terms;
  watching.longest_added = &seen.longest_added;
  watching.largest_product = &seen.product;
  watching.logistic = &seen.logistic;
  watching.calls = &one.calls;
  one.oracle = run_oracle(problem, one.spec, seen.raised, watching);
}

/// Fills in inputs, and what reference and oracle make of them: halved until the reference stays
/// within its range, and once more.
Seen draw_within_range(const Problem& problem, Case& one, at::Device where) {
  const auto& spec = one.spec;
  Seen seen;
  // What just stays inside for the reference may not for others, who round otherwise.
  bool room = true;
  // log(1 + exp(x)) is infinite in float64 too, long before who writes it otherwise is. Where it
  // always is, as where a mask is infinite, that is the answer.
  bool may_be_infinite =
      spec.family.ends_with("nan") || spec.family.ends_with("inf") || spec.family == "normal";
  // Zero over an epsilon that is zero in half precision is NaN whatever the inputs are halved to.
  // Then as few such elements as there can be, of which nothing is asked.
  bool may_be_lost = false;
  auto fewest = std::numeric_limits<std::int64_t>::max();
  int fewest_at = 0;
  for (int shrink = 0;; ++shrink) {
    one.inputs = draw(problem, spec, shrink, where);
    one.reference = run_reference(problem, spec, one.inputs);
    if (shrink == 0) check_determinism(problem, one);
    run_and_watch(problem, one, seen);
    check_agreement(problem, spec, one.reference, one.oracle);
    if (!may_be_infinite && !is_finite(one.oracle)) {
      may_be_infinite = shrink >= few_halvings;
      if (may_be_infinite) shrink = -1;
      continue;
    }
    one.lost = count_lost(one.reference, one.oracle);
    if (one.lost < fewest) {
      fewest = one.lost;
      fewest_at = shrink;
    }
    const bool last = spec.family == "normal" || shrink >= most_halvings || may_be_lost;
    const bool inside =
        (one.lost == 0 || may_be_lost) && (last || seen.product <= largest_of(spec.dtype));
    if (inside && room) return seen;
    room = inside;
    if (inside || !last) continue;
    may_be_lost = true;
    room = true;
    shrink = fewest_at - 1;
  }
}

/// What each output is where inputs, and results on the way, move by what rounding moves them.
/// `longest`: how many terms of one sum there are.
std::vector<Tensors> moved_outputs(const Problem& problem, Case& one, const Seen& seen,
                                   std::int64_t longest) {
  const auto& spec = one.spec;
  // What moves grows with what is added up, but for what moves inside by itself.
  const double growth = std::sqrt(static_cast<double>(longest));
  std::vector<Tensors> moved(one.oracle.size());
  const int times = perturbations_for(input_elements(problem, spec.axes));
  for (int time = 0; time < times; ++time) {
    const auto key = random::key(~spec.seed, static_cast<std::uint64_t>(time));
    Inside inside;
    inside.step = perturbation / growth;
    inside.large_wholes = perturbation;
    inside.of_differences =
        lost_in_differences(spec.dtype) * (spec.dtype == DType::float64 ? growth : 1.0);
    inside.tanh_form = seen.logistic.magnified() ? 0.0 : roundoff_of(spec.dtype);
    inside.eight_bits = multiplies_eight_bits(problem);
    inside.seed = random::key(key, 1000);
    inside.most_calls = most_calls(one);
    inside.given = &seen.raised;
    inside.edges = &one.edges;
    const auto moves = time == 0 ? Moves::together : Moves::by_place;
    inside.logarithms_up = moves == Moves::together;
    const auto inputs = judge::moved(one.inputs, perturbation, moves, key);
    const auto outputs = run_moved(problem, spec, inputs, inside).value_or(one.oracle);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      require_shape(problem, one, i, outputs[i]);
      moved[i].push_back(outputs[i]);
    }
  }
  return moved;
}

/// Learns from all that was run how far each output may be off.
void allow(const Problem& problem, Case& one, const Seen& seen, const Unrounded& free,
           const std::vector<Tensors>& moved, std::int64_t longest) {
  const auto rounded = roundings_on_the_way(problem, one);
  const bool large = one.spec.dtype != DType::float64 && is_large_product(seen.product);
  const auto of_products =
      large ? errors_of_large_products(problem, one) : Tensors(one.oracle.size());
  for (std::size_t i = 0; i < one.oracle.size(); ++i) {
    const Evidence evidence{one.spec.dtype,
                            one.reference[i],
                            rounded.results[i],
                            output_of(free.singles, i),
                            output_of(free.loops, i),
                            one.oracle[i],
                            moved[i],
                            longest,
                            gain_of(problem, one, one.oracle[i])};
    const Errors errors(evidence);
    const auto rule = Tolerance::learn(evidence, errors);
    one.tolerances.push_back(std::make_shared<Tolerance>(rule));
    one.allowed.push_back(rule.allowed(evidence, errors));
    // Where terms cancel, elements of one size have errors of many.
    for (const auto& largest : {rounded.largest[i], of_products[i]}) {
      if (largest.defined()) {
        one.allowed[i] = at::maximum(one.allowed[i], largest.mul(rounded_factor));
      }
    }
    ask_nothing_beyond_range(one, i, free);
  }
}

}  // namespace

Case realise(const Problem& problem, const CaseSpec& spec, at::Device where) {
  const at::NoGradGuard no_grad;
  const FullPrecision full_precision;
  const c10::OptionalDeviceGuard current(where);
  std::optional<Serial> serial;
  if (input_elements(problem, spec.axes) <= serial_elements) {
    serial.emplace();
  } else {
    require_threads();
  }
  Case one;
  one.spec = spec;
  const auto seen = draw_within_range(problem, one, where);
  const auto free = without_roundings(problem, one);
  const auto longest_of_all = longest_sum(problem, one, seen.most_terms, seen.longest_added);
  const auto longest = free.terms > 0 ? free.terms : longest_of_all;
  const auto moved = moved_outputs(problem, one, seen, longest);
  one.copies = find_copies(problem, one, moved);
  allow(problem, one, seen, free, moved, longest);
  if (may_cross(problem, one)) one.crossing_terms = longest_of_all;
  allow_crossings(problem, one);
  allow_close_calls(problem, one, free.loops);
  return one;
}

Case realise_again(const Problem& problem, const Case& model, std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  const FullPrecision full_precision;
  const c10::OptionalDeviceGuard current(place_of(model.reference));
  std::optional<Serial> serial;
  if (input_elements(problem, model.spec.axes) <= serial_elements) {
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
  one.edges = model.edges;
  one.calls = model.calls;
  one.tolerances = model.tolerances;
  one.crossing_terms = model.crossing_terms;
  allow_crossings(problem, one);
  allow_close_calls(problem, one, {});
  return one;
}

}  // namespace ouroboros::judge
