#include "verdict/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "verdict/text.hpp"

namespace ouroboros::diagnosis {
namespace {

using Cases = std::vector<const CaseResult*>;

struct Split {
  Cases failed;
  Cases passed;
};

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

// True when `pattern` holds for every failed case and for no passed one, and both kinds exist.
template <class Pattern>
bool separates(const Split& cases, Pattern pattern) {
  return !cases.failed.empty() && !cases.passed.empty() &&
         std::all_of(cases.failed.begin(), cases.failed.end(), pattern) &&
         std::none_of(cases.passed.begin(), cases.passed.end(), pattern);
}

bool all_failed(const Split& cases, bool (*pattern)(const CaseResult&)) {
  return std::all_of(cases.failed.begin(), cases.failed.end(),
                     [&](const CaseResult* one) { return pattern(*one); });
}

// ---- Values ------------------------------------------------------------------------------------

struct FamilyRule {
  Trait trait;             // Must be among the failed ...
  std::set<Trait> beside;  // ... and with it nothing but these, which the same mistake may break.
  const char* cause;
};

const std::array<FamilyRule, 5>& family_rules() {
  static const std::array<FamilyRule, 5> rules{{
      {Trait::large,
       {Trait::offset, Trait::not_finite},
       "only large values fail: an intermediate overflows or loses precision. Subtract the maximum "
       "before exponentials, and keep sums in float32 or wider."},
      {Trait::offset,
       {Trait::equal},
       "only values with a large mean and a small spread fail: a small difference of large numbers "
       "is lost. In a variance E[x^2] - E[x]^2 cancels: compute the mean first, then the mean of "
       "squared differences. Elsewhere keep sums and products in float32 or wider."},
      {Trait::tiny,
       {Trait::equal},
       "only tiny values fail: eps is missing, has the wrong value, or stands on the wrong side of "
       "the square root or the division."},
      {Trait::equal,
       {},
       "only rows of equal values fail: the variance is zero there, so a missing eps or a division "
       "by the spread shows."},
      {Trait::not_finite,
       {},
       "only inputs with NaN or infinities fail: they must propagate exactly as in the reference. "
       "Comparisons such as `x > max ? x : max` drop NaN."},
  }};
  return rules;
}

std::optional<std::string> from_families(const Split& cases) {
  const auto traits_of = [](const Cases& all) {
    std::set<Trait> traits;
    for (const CaseResult* one : all) traits.insert(trait_of(one->family));
    return traits;
  };
  const std::set<Trait> failed = traits_of(cases.failed);
  // A shape may let a family pass by luck, so it need not fail everywhere; ordinary values must
  // pass.
  if (!traits_of(cases.passed).contains(Trait::plain)) return std::nullopt;
  for (const FamilyRule& rule : family_rules()) {
    const bool explains = std::all_of(failed.begin(), failed.end(), [&](Trait trait) {
      return trait == rule.trait || rule.beside.contains(trait);
    });
    if (failed.contains(rule.trait) && explains) return rule.cause;
  }
  return std::nullopt;
}

// ---- Dtypes ------------------------------------------------------------------------------------

std::optional<std::string> from_dtypes(const Split& cases) {
  if (cases.failed.empty()) return std::nullopt;
  const std::string& dtype = cases.failed.front()->dtype;
  if (!separates(cases, [&](const CaseResult* one) { return one->dtype == dtype; })) {
    return std::nullopt;
  }
  const std::string_view why =
      dtype == "float16" ? "accumulate in float32, not in _Float16, and round once at the end."
      : dtype == "float64"
          ? "look for float constants, float intermediates or float functions (expf for exp)."
      : dtype == "float32" ? "compare it with the entry points that pass; TF32 is too coarse for "
                             "its products (`input_precision=\"ieee\"` in Triton's `tl.dot`)."
                           : "look for overflow, a wrong element type or floating-point detours.";
  return fmt::format("only {} fails, and all of its cases do: {}", text::printable(dtype), why);
}

// ---- Shapes ------------------------------------------------------------------------------------

std::optional<std::int64_t> axis_of(const CaseResult& one, const std::string& axis) {
  const auto found = one.axes.find(axis);
  return found == one.axes.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> from_one_axis(const Split& cases, const std::string& axis) {
  std::pair<std::int64_t, std::int64_t> failed{std::numeric_limits<std::int64_t>::max(), 0};
  std::pair<std::int64_t, std::int64_t> passed = failed;
  for (const auto& [all, range] : {std::pair(&cases.failed, &failed), {&cases.passed, &passed}}) {
    for (const CaseResult* one : *all) {
      const std::optional<std::int64_t> size = axis_of(*one, axis);
      if (!size) return std::nullopt;
      *range = {std::min(range->first, *size), std::max(range->second, *size)};
    }
  }
  const std::string name = text::printable(axis);
  if (failed.second == 0) return fmt::format("only {}=0 fails: handle the empty tensor.", name);

  // The smallest width that explains it: what passes at 8 but fails at 4 works in eights.
  for (const std::int64_t width : {2, 4, 8, 16, 32, 64}) {
    const bool tail =
        separates(cases, [&](const CaseResult* one) { return *axis_of(*one, axis) % width != 0; });
    if (tail) {
      return fmt::format(
          "every failing case has {0} not a multiple of {1}, and no passing case does: the tail "
          "after the last whole vector or block is wrong or missing.",
          name, width);
    }
  }
  if (failed.first > passed.second) {
    return fmt::format(
        "every failing case has {0} of {1} or more, and every passing one {2} or less: look for a "
        "fixed-size buffer, a loop bound or a stride that is right only for small {0}.",
        name, failed.first, passed.second);
  }
  if (failed.second < passed.first) {
    return fmt::format(
        "every failing case has {0} of {1} or less, and every passing one {2} or more: small {0} "
        "needs care (a loop that assumes a first block, a division by {0} - 1).",
        name, failed.second, passed.first);
  }
  return std::nullopt;
}

std::optional<std::string> from_axes(const Split& cases) {
  if (cases.failed.empty() || cases.passed.empty()) return std::nullopt;
  for (const auto& [axis, size] : cases.failed.front()->axes) {
    if (std::optional<std::string> cause = from_one_axis(cases, axis)) return cause;
  }
  return std::nullopt;
}

std::optional<std::string> from_placement(const Split& cases) {
  for (const std::string_view place : {"low", "high"}) {
    if (separates(cases, [&](const CaseResult* one) { return one->placement == place; })) {
      return fmt::format(
          "only buffers at the {} end of their pages fail: an access goes past the tensor's {}.",
          place, place == "low" ? "beginning" : "end");
    }
  }
  return std::nullopt;
}

// ---- Errors ------------------------------------------------------------------------------------

bool mentions_nan(const CaseResult& one) {
  return std::isnan(one.max_abs_error) || std::isnan(one.error_over_allowed) ||
         contains_any(lower(one.message), {"nan"});
}

bool mentions_unwritten(const CaseResult& one) {
  return contains_any(lower(one.message), {"poison", "unwritten", "not written"});
}

std::optional<std::string> from_messages(const Split& cases) {
  if (all_failed(cases, mentions_unwritten)) {
    return "output elements keep the filling that the referee put there: write every element of "
           "every output, also for rows and tails that need no work.";
  }
  if (all_failed(cases, mentions_nan)) {
    return "NaN stands where the reference has a number, or the reverse: look for inf - inf, "
           "0 / 0, the square root of a negative rounding error, and exponentials that overflow.";
  }
  return std::nullopt;
}

// The allowed error of float32 is near 2^-16 of the value, so 2^-11 (half precision, TF32) is 32
// times that, and 2^-8 (bfloat16) 256 times. Wrong formulas are off by far more.
constexpr double short_precision_low = 4.0;
constexpr double short_precision_high = 4096.0;

bool looks_like_low_precision(const CaseResult& one) {
  return one.dtype == "float32" && std::isfinite(one.error_over_allowed) &&
         one.error_over_allowed >= short_precision_low &&
         one.error_over_allowed <= short_precision_high;
}

bool looks_like_rounding(const CaseResult& one) {
  return one.error_over_allowed > 1.0 && one.error_over_allowed < short_precision_low;
}

bool every_element_is_wrong(const CaseResult& one) {
  return one.elements > 0 && one.wrong_elements == one.elements;
}

bool few_elements_are_wrong(const CaseResult& one) {
  constexpr std::int64_t one_in = 20;
  return one.wrong_elements > 0 && one.wrong_elements <= one.elements / one_in;
}

std::optional<std::string> from_errors(const Split& cases) {
  if (all_failed(cases, looks_like_rounding)) {
    return "the errors are only a little above what is allowed: sum in a wider type or pairwise, "
           "and avoid approximate reciprocals and exponentials.";
  }
  if (all_failed(cases, looks_like_low_precision)) {
    return "float32 results are right to about three digits only: something runs in half, bfloat16 "
           "or TF32 precision (Triton's `tl.dot` does, of float32, unless it has "
           "`input_precision=\"ieee\"`), or an approximate formula (a tanh GELU for the exact one, "
           "a "
           "short polynomial, a table) stands in for the exact one.";
  }
  if (all_failed(cases, few_elements_are_wrong)) {
    return "only a few elements are wrong: look at first and last elements of rows and blocks.";
  }
  if (cases.passed.empty() && all_failed(cases, every_element_is_wrong)) {
    return "every element of every case is wrong: the formula, a scale factor, the reduced axis or "
           "the order of the arguments is not the reference's.";
  }
  return std::nullopt;
}

}  // namespace

Trait trait_of(std::string_view family) {
  // The families of the sweep that are special; docs/concepts.md has all of them.
  constexpr std::array<std::pair<std::string_view, Trait>, 18> table{{
      {"x8", Trait::large},
      {"x64", Trait::large},
      {"x4096", Trait::large},
      {"spread", Trait::large},
      {"spike", Trait::large},
      {"sink", Trait::large},
      {"mixed", Trait::large},
      {"large_mean", Trait::offset},
      {"common_mean", Trait::offset},
      {"tiny", Trait::tiny},
      {"faint", Trait::tiny},
      {"denormal", Trait::tiny},
      {"equal", Trait::equal},
      {"nan", Trait::not_finite},
      {"inf", Trait::not_finite},
      {"lone_nan", Trait::not_finite},
      {"lone_inf", Trait::not_finite},
      {"lone_minus_inf", Trait::not_finite},
  }};
  for (const auto& [name, trait] : table) {
    if (name == family) return trait;
  }
  return Trait::plain;
}

std::vector<std::string> likely_causes(const Correctness& correctness, std::size_t most) {
  Split cases;
  for (const CaseResult& one : correctness.cases) {
    if (one.status == "failed") cases.failed.push_back(&one);
    if (one.status == "passed") cases.passed.push_back(&one);
  }
  std::vector<std::string> causes;
  if (cases.failed.empty()) return causes;
  for (const auto rule :
       {from_families, from_dtypes, from_axes, from_placement, from_messages, from_errors}) {
    if (causes.size() == most) break;
    if (std::optional<std::string> cause = rule(cases)) causes.push_back(*std::move(cause));
  }
  return causes;
}

std::string_view advice(std::string_view finding_kind) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 22> table{{
      {"forbidden_syscall",
       "Compute only: no threads, files, output, clocks or environment, and allocate little."},
      {"exited", "Return from the function: no exit, abort, failed assert or uncaught exception."},
      {"fault",
       "Check index bounds, alignment of vector accesses (rows need not be aligned), integer "
       "division by zero and large arrays on the stack."},
      {"timeout", "Look for a loop that does not end, or do asymptotically less work."},
      {"out_of_memory", "Work in place or in small blocks; free what was allocated."},
      {"load_failed",
       "Define every function that is declared, and use nothing but the C++ standard library."},
      {"tampered", "Write to the outputs of this very call, and to nothing else."},
      {"write_out_of_bounds",
       "Write only to the elements of the outputs; check tails and strides."},
      {"poison_read",
       "Results depend on memory that was never written: initialise every local buffer, and do not "
       "read an output before it is written or an input past its end."},
      {"nondeterministic",
       "Results differ between runs on the same inputs: keep no state between calls and read "
       "nothing uninitialised."},
      {"unwritten_output", "Write every element of every output in every call."},
      {"wrong_values", ""},
      {"nan_mismatch", "NaN and infinities must stand exactly where the reference has them."},
      {"impossible_speed", "Do the whole computation in every call."},
      {"remembers_inputs", "Keep nothing between calls: inputs are new each time."},
      {"timed_output_wrong",
       "Compute from the inputs of this very call: results remembered from earlier calls are "
       "stale."},
      {"race",
       "Who needs another's work waits for it: warps at a barrier before and after each use of "
       "shared memory, blocks and programs by atomics or in a second kernel."},
      {"suspicious_symbol", "Leave out functions that a computation does not need."},
      {"constructor", "Run nothing at load time: initialise inside the entry points."},
      {"ifunc", "Choose code at compile time, not with IFUNC resolvers or target clones."},
      {"raw_syscall_instruction", "Leave out inline assembly that enters the kernel."},
      {"self_modifying", "Leave code alone: no writable or generated machine code."},
  }};
  for (const auto& [kind, text] : table) {
    if (kind == finding_kind) return text;
  }
  return {};
}

}  // namespace ouroboros::diagnosis
