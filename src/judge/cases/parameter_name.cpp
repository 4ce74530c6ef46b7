#include "judge/cases/parameter_name.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace ouroboros::judge {
namespace {

/// What no parameter of a C++ function can be called, or not where the usual headers are included.
constexpr auto reserved = std::to_array<std::string_view>({
    "_Float16",     "alignas",   "alignof",     "and",         "and_eq",       "asm",
    "auto",         "bitand",    "bitor",       "bool",        "break",        "case",
    "catch",        "char",      "char16_t",    "char32_t",    "char8_t",      "class",
    "co_await",     "co_return", "co_yield",    "compl",       "concept",      "const",
    "const_cast",   "consteval", "constexpr",   "constinit",   "continue",     "decltype",
    "default",      "delete",    "do",          "double",      "dynamic_cast", "else",
    "enum",         "explicit",  "export",      "extern",      "false",        "float",
    "for",          "friend",    "goto",        "if",          "inline",       "int",
    "int32_t",      "int64_t",   "long",        "mutable",     "namespace",    "new",
    "noexcept",     "not",       "not_eq",      "nullptr",     "operator",     "or",
    "or_eq",        "private",   "protected",   "public",      "register",     "reinterpret_cast",
    "requires",     "return",    "run_float16", "run_float32", "run_float64",  "run_int32",
    "run_int64",    "short",     "signed",      "sizeof",      "static",       "static_assert",
    "static_cast",  "std",       "struct",      "switch",      "template",     "this",
    "thread_local", "throw",     "true",        "try",         "typedef",      "typeid",
    "typename",     "union",     "unsigned",    "using",       "virtual",      "void",
    "volatile",     "wchar_t",   "while",       "xor",         "xor_eq",       "errno",
    "assert",       "NULL",      "INFINITY",    "NAN",
});

bool is_taken(const Problem& problem, const std::string& name) {
  const auto is_it = [&name](const auto& one) { return one.name == name; };
  return std::find(reserved.begin(), reserved.end(), name) != reserved.end() ||
         std::any_of(problem.inputs.begin(), problem.inputs.end(), is_it) ||
         std::any_of(problem.axes.begin(), problem.axes.end(), is_it) ||
         std::find(problem.outputs.begin(), problem.outputs.end(), name) != problem.outputs.end();
}

}  // namespace

std::string parameter_name(const Problem& problem, const std::string& name) {
  if (std::find(reserved.begin(), reserved.end(), name) == reserved.end()) return name;
  auto other = name + "_";
  while (is_taken(problem, other)) other += "_";
  return other;
}

}  // namespace ouroboros::judge
