#include "judge/observed/mark_notes.hpp"

#include <ATen/core/Tensor.h>

#include <cmath>
#include <limits>
#include <optional>

#include "judge/base/tensors.hpp"
#include "judge/orders/arguments.hpp"
#include "judge/values/masks.hpp"

namespace ouroboros::judge {
namespace {

/// Of a reference that has more, those that it meets first.
constexpr std::size_t most_marks = 64;

/// Has neighbours in int64, and is a float64.
constexpr double largest_mark = 0x1p53;

bool is_whole(const at::Tensor& tensor) {
  return c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/false);
}

/// Of a tensor of constants: a longer one is more likely a ramp than a few numbers that matter.
constexpr std::int64_t most_constants = 16;

/// What an operator compares `compared` with: a number; or those of a tensor of constants, where
/// `compared` is none.
std::vector<double> constants(const c10::IValue* value, const at::Tensor& compared,
                              const TensorSet& computed) {
  if (value == nullptr) return {};
  if (const auto number = constant(*value)) return {*number};
  if (!value->isTensor() || !value->toTensor().defined()) return {};
  const auto& tensor = value->toTensor();
  if (tensor.is_complex() || tensor.numel() > most_constants || computed.has(tensor) ||
      !computed.has(compared)) {
    return {};
  }
  const auto numbers = tensor.to(at::kCPU, at::kDouble).reshape(-1).contiguous();
  const auto* first = numbers.const_data_ptr<double>();
  return {first, first + numbers.numel()};
}

/// Whether an operator does with this number what is done with a mask: 1 - m, m - 1, -10000 m.
bool masks(std::string_view name, std::optional<double> number) {
  if (!number) return false;
  return is_one_of(name, {"rsub", "sub"}) ? *number == 1.0
                                          : name == "mul" && std::abs(*number) >= least_of_masks;
}

/// Just as it was given.
void note_masks(const at::Tensor& tensor, MarkNotes& notes) {
  for (std::size_t i = 0; i < notes.inputs.size(); ++i) {
    if (notes.problem.inputs[i].values == Values::real && notes.inputs[i].is_alias_of(tensor)) {
      notes.masks.insert(i);
    }
  }
}

/// Bools, lengths and what is declared a mask say beside a softmax what it is to leave out, which
/// may be everything where the reference sees to that. Something is left along the dimensions that
/// are as long as what a softmax is taken of.
std::vector<Mask> masks_of(const MarkNotes& notes) {
  std::set<Mask> masks;
  for (std::size_t i = 0; i < notes.inputs.size(); ++i) {
    const auto& input = notes.problem.inputs[i];
    const bool says = notes.inputs[i].scalar_type() == at::kBool || input.values == Values::mask ||
                      input.values == Values::length;
    if (notes.masks.contains(i)) masks.insert({i, row_dimension(input)});
    if (!says || notes.softmaxes.empty() || notes.of_nothing) continue;
    const auto known = masks.size();
    for (std::size_t dim = 0; dim < input.shape.size(); ++dim) {
      const auto extent = notes.inputs[i].size(static_cast<std::int64_t>(dim));
      if (extent > 1 && notes.softmaxes.contains(extent)) masks.insert({i, dim});
    }
    if (masks.size() == known) masks.insert({i, row_dimension(input)});
  }
  return {masks.begin(), masks.end()};
}

/// Of a softmax of scores: how many there are in a row.
void note_softmax(std::string_view name, const c10::FunctionSchema& schema,
                  const torch::jit::Stack& stack, MarkNotes& notes) {
  const auto extent_of = [&](std::string_view of, std::int64_t dim) {
    const auto* value = argument(of, schema, stack);
    if (value == nullptr || !value->isTensor() || value->toTensor().dim() == 0) return;
    notes.softmaxes.insert(value->toTensor().size(dim));
  };
  if (name == "scaled_dot_product_attention") return extent_of("key", -2);
  const auto* dim = argument("dim", schema, stack);
  if (dim != nullptr && dim->isInt()) extent_of("self", dim->toInt());
  if (dim != nullptr && dim->isIntList()) {
    for (const auto one : dim->toIntVector()) extent_of("self", one);
  }
}

/// Of an operator that writes to places, each of which has one value in the end: where it does so.
void note_writes(std::string_view name, const c10::FunctionSchema& schema,
                 const torch::jit::Stack& stack, MarkNotes& notes) {
  const auto note_places = [&](const at::Tensor& places) {
    if (!places.defined() || !is_whole(places)) return;
    for (std::size_t i = 0; i < notes.inputs.size(); ++i) {
      const auto& input = notes.inputs[i];
      // Indices are cast on their way.
      if (notes.problem.inputs[i].values == Values::index && input.numel() == places.numel() &&
          input.reshape(-1).to(at::kLong).equal(places.reshape(-1).to(at::kLong))) {
        notes.distinct.insert(i);
      }
    }
  };
  const auto* index = argument("index", schema, stack);
  if (name == "index_copy" || (name == "scatter" && argument("src", schema, stack) != nullptr &&
                               argument("reduce", schema, stack) == nullptr)) {
    note_places(index->toTensor());
  }
  const auto* accumulate = argument("accumulate", schema, stack);
  const auto* indices = argument("indices", schema, stack);
  if (accumulate == nullptr || accumulate->toBool() || indices == nullptr) return;
  for (const auto& one : indices->toListRef()) {
    if (one.isTensor()) note_places(one.toTensor());
  }
}

/// What counts are kept from being nothing by, to divide by them.
bool is_least_count(const at::Tensor& counts, std::optional<double> least) {
  return least && *least > 0.0 && *least <= 1.0 && !counts.is_complex() &&
         (is_whole(counts) || counts.eq(counts.round()).all().item().toBool());
}

void note_real(const at::Tensor& tensor, double value, RealMark::Role role, MarkNotes& notes) {
  if (!std::isfinite(value) || notes.real.size() >= most_marks) return;
  const auto origin = notes.rescaled.of(tensor);
  if (!origin) return;
  for (const double source : origin->sources(value)) {
    notes.real.insert({origin->input, source, role});
  }
}

void note_whole(double value, MarkNotes& notes) {
  if (notes.whole.size() < most_marks && std::abs(value) <= largest_mark &&
      std::trunc(value) == value) {
    notes.whole.insert(static_cast<std::int64_t>(value));
  }
}

/// Whole multiples are where quotients and remainders of integers step, of either sign.
void note_multiples(double divisor, MarkNotes& notes) {
  for (const double times : {1.0, -1.0, 2.0, -2.0}) note_whole(times * divisor, notes);
}

/// Numbers of which a shift to the right leaves nothing, and those halfway between two, which
/// rounding sends either way.
void note_shift(double by, MarkNotes& notes) {
  if (!(by >= 1.0 && by < 53.0)) return;
  for (const double sign : {1.0, -1.0}) {
    for (const int less : {0, 1}) {
      note_whole(sign * std::ldexp(1.0, static_cast<int>(by) - less), notes);
    }
  }
}

bool leaves_a_remainder(std::string_view name, const c10::FunctionSchema& schema,
                        const torch::jit::Stack& stack) {
  if (is_one_of(name, {"remainder", "fmod", "floor_divide"})) return true;
  const auto* rounding = argument("rounding_mode", schema, stack);
  return name == "div" && rounding != nullptr && !rounding->isNone();
}

bool puts_in_order(std::string_view name) {
  return is_one_of(name,
                   {"lt", "le", "gt", "ge", "less", "less_equal", "greater", "greater_equal"});
}

bool tells_equal(std::string_view name) {
  return is_one_of(name, {"eq", "ne", "not_equal", "isclose"});
}

bool takes_the_lower_or_higher(std::string_view name) {
  return is_one_of(name, {"minimum", "maximum", "fmin", "fmax"});
}

bool clamps(std::string_view name) {
  return is_one_of(name, {"clamp", "clamp_min", "clamp_max", "clip"});
}

/// Constants by which an operator orders the numbers of an input. Where its results are the same
/// from either side, who takes the other one at the limit itself is right, and so are gradients.
void note_order(std::string_view name, const c10::FunctionSchema& schema,
                const torch::jit::Stack& stack, const TensorSet& computed, MarkNotes& notes) {
  const auto note = [&](std::string_view of, std::string_view input, RealMark::Role role,
                        double sign = 1.0) {
    const auto* tensor = argument(input, schema, stack);
    if (tensor == nullptr || !tensor->isTensor()) return;
    for (const double number :
         constants(argument(of, schema, stack), tensor->toTensor(), computed)) {
      if (number != 0.0) note_real(tensor->toTensor(), sign * number, role, notes);
    }
  };
  using enum RealMark::Role;
  if (puts_in_order(name)) {
    note("other", "self", threshold);
    note("self", "other", threshold);
  } else if (takes_the_lower_or_higher(name)) {
    note("other", "self", limit);
    note("self", "other", limit);
  } else if (name == "threshold") {
    note("threshold", "self", threshold);
  } else if (name == "bucketize") {
    note("boundaries", "self", threshold);
  } else if (name == "searchsorted") {
    note("sorted_sequence", "self", threshold);
  } else if (name == "histc") {
    // Next to an end arithmetic may count what comparing leaves out.
    for (const auto* of : {"min", "max"}) note(of, "self", sentinel);
  } else if (is_one_of(name, {"hardshrink", "softshrink"})) {
    const auto role = name == "hardshrink" ? threshold : limit;
    for (const double sign : {1.0, -1.0}) note("lambd", "self", role, sign);
  } else if (clamps(name)) {
    for (const auto* of : {"min", "max"}) note(of, "self", limit);
  } else if (name == "hardtanh") {
    for (const auto* of : {"min_val", "max_val"}) note(of, "self", limit);
  } else if (is_one_of(name, {"huber_loss", "smooth_l1_loss"})) {
    for (const auto* input : {"self", "target"}) {
      for (const auto* of : {"delta", "beta"}) note(of, input, limit);
    }
  }
}

/// What is halfway between two whole numbers goes to the even one, which is above or below.
void note_halves(std::string_view name, const c10::FunctionSchema& schema,
                 const torch::jit::Stack& stack, const at::Tensor& tensor, MarkNotes& notes) {
  if (name != "round") return;
  const auto* decimals = argument("decimals", schema, stack);
  if (decimals != nullptr && decimals->toInt() != 0) return;
  for (const double half : {0.5, 1.5, 2.5}) {
    for (const double sign : {1.0, -1.0}) {
      note_real(tensor, sign * half, RealMark::Role::sentinel, notes);
    }
  }
}

/// Of larger ones who takes exponentials knows less than what is allowed beside them.
std::vector<RealMark> real_marks_of(const MarkNotes& notes) {
  constexpr double most_beside_exponentials = 0x1p15;
  constexpr double most_of_scores = 0x1p9;
  std::vector<RealMark> found;
  for (const auto& mark : notes.real) {
    const double most = notes.scores.any()   ? most_of_scores
                        : notes.exponentials ? most_beside_exponentials
                                             : std::numeric_limits<double>::infinity();
    if (mark.role == RealMark::Role::sentinel || std::fabs(mark.value) <= most) {
      found.push_back(mark);
    }
  }
  return found;
}

/// Whoever asks that of what was given expects to be given it. Asked of what was computed, as of an
/// attention in which all is masked, it says nothing of inputs.
void note_what_is_no_number(std::string_view name, const at::Tensor& tensor, MarkNotes& notes) {
  const auto origin = notes.rescaled.of(tensor);
  if (!origin || !origin->alone) return;
  const bool both = is_one_of(name, {"nan_to_num", "isfinite"});
  const bool nan =
      both || is_one_of(name, {"isnan", "nansum", "nanmean", "nanmedian", "nanquantile"});
  const bool inf = both || is_one_of(name, {"isinf", "isposinf", "isneginf"});
  notes.nan = notes.nan || nan;
  notes.inf = notes.inf || inf;
}

}  // namespace

void note_marks(std::string_view name, const c10::FunctionSchema& schema,
                const torch::jit::Stack& stack, const TensorSet& computed, MarkNotes& notes) {
  const auto given = [&](std::string_view of) { return argument(of, schema, stack); };
  const auto tensor_of = [&](std::string_view of) {
    const auto* value = given(of);
    return value != nullptr && value->isTensor() ? value->toTensor() : at::Tensor();
  };
  const auto number = [&](std::string_view of) {
    const auto* value = given(of);
    return value == nullptr ? std::nullopt : constant(*value);
  };
  const auto note = [&](std::string_view of, const at::Tensor& compared = {}) {
    for (const double one : constants(given(of), compared, computed)) note_whole(one, notes);
  };
  // That one of `tensor` is one of what `of` has.
  const auto note_equal = [&](const at::Tensor& tensor, std::string_view of) {
    if (!tensor.defined()) return;
    if (is_whole(tensor)) return note(of, tensor);
    for (const double one : constants(given(of), tensor, computed)) {
      note_real(tensor, one, RealMark::Role::sentinel, notes);
      if (std::isinf(one)) note_what_is_no_number("isinf", tensor, notes);
    }
  };
  notes.exponentials =
      notes.exponentials || takes_exponentials(name) || name == "scaled_dot_product_attention";
  if (is_one_of(name, {"softmax", "_softmax", "log_softmax", "_log_softmax", "logsumexp",
                       "scaled_dot_product_attention"})) {
    note_softmax(name, schema, stack, notes);
  }
  notes.of_nothing = notes.of_nothing || is_one_of(name, {"any", "all", "isnan", "nan_to_num"});
  note_writes(name, schema, stack, notes);
  note("ignore_index");
  note("padding_idx");
  if (name == "isin") {
    for (const auto* of : {"test_elements", "test_element"}) note_equal(tensor_of("elements"), of);
    return;
  }
  const auto tensor = tensor_of("self");
  if (!tensor.defined()) return;
  if (is_one_of(name, {"clamp", "clamp_min"}) && is_least_count(tensor, number("min"))) {
    notes.of_nothing = true;
  }
  const auto other = tensor_of("other");
  if (tells_equal(name)) {
    note_equal(tensor, "other");
    note_equal(other, "self");
  }
  if (tensor.is_floating_point()) {
    note_what_is_no_number(name, tensor, notes);
    // Nothing else differs from itself.
    if (tells_equal(name) && other.is_same(tensor)) note_what_is_no_number("isnan", tensor, notes);
    note_order(name, schema, stack, computed, notes);
    note_halves(name, schema, stack, tensor, notes);
    if (masks(name, number("other"))) note_masks(tensor, notes);
    return;
  }
  if (!is_whole(tensor)) return;
  if (puts_in_order(name) || takes_the_lower_or_higher(name)) {
    note("other", tensor);
    note("self", other);
  } else if (clamps(name)) {
    note("min", tensor);
    note("max", tensor);
  } else if (name == "bucketize") {
    note("boundaries", tensor);
  } else if (name == "searchsorted") {
    note("sorted_sequence", tensor);
  } else if (leaves_a_remainder(name, schema, stack)) {
    for (const double one : constants(given("other"), tensor, computed)) note_multiples(one, notes);
  } else if (is_one_of(name, {"bitwise_right_shift", "__rshift_"})) {
    // The latter is `__rshift__`: names come without the underscore of what works in place.
    for (const double one : constants(given("other"), tensor, computed)) note_shift(one, notes);
  }
}

Marks summary_of(const MarkNotes& notes) {
  return {{notes.whole.begin(), notes.whole.end()},
          real_marks_of(notes),
          masks_of(notes),
          {notes.distinct.begin(), notes.distinct.end()},
          notes.exact.inputs(),
          notes.scores.any(),
          notes.nan,
          notes.inf,
          false};
}

}  // namespace ouroboros::judge
