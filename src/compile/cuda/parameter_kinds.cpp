#include "compile/cuda/parameter_kinds.hpp"

#include <algorithm>
#include <sstream>

namespace ouroboros::cuda {
namespace {

constexpr auto none = std::string_view::npos;
constexpr std::string_view blanks = " \t\r\n";

std::string without_comments(std::string_view ptx) {
  std::string text;
  text.reserve(ptx.size());
  while (!ptx.empty()) {
    const bool line = ptx.starts_with("//");
    if (line || ptx.starts_with("/*")) {
      const auto end = line ? ptx.find('\n') : ptx.find("*/", 2);
      ptx.remove_prefix(end == none ? ptx.size() : end + (line ? 0 : 2));
      text += ' ';
      continue;
    }
    text += ptx.front();
    ptx.remove_prefix(1);
  }
  return text;
}

/// ".param .u64 .ptr .global .align 16 x", ".param .align 2 .b8 x[2]"
ParameterKind kind_of(const std::string& declaration) {
  std::istringstream words(declaration);
  auto kind = ParameterKind::other;
  for (std::string word; words >> word;) {
    if (word == ".f32" || word == ".f64") return ParameterKind::real;
    // ".ptr .shared" comes after the type.
    if (word.starts_with(".u") || word.starts_with(".s")) kind = ParameterKind::integer;
  }
  return kind;
}

std::vector<ParameterKind> kinds_of(std::string_view list) {
  std::vector<ParameterKind> kinds;
  std::istringstream declarations{std::string(list)};
  for (std::string one; std::getline(declarations, one, ',');) kinds.push_back(kind_of(one));
  return kinds;
}

}  // namespace

std::map<std::string, std::vector<ParameterKind>> parameter_kinds(std::string_view ptx) {
  constexpr std::string_view entry = ".entry";
  const auto text = without_comments(ptx);
  auto rest = std::string_view(text);
  std::map<std::string, std::vector<ParameterKind>> kinds;
  for (auto at = rest.find(entry); at != none; at = rest.find(entry)) {
    rest.remove_prefix(at + entry.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
    const auto open = rest.find('(');
    const auto close = rest.find(')', open);
    if (open == none || close == none) break;
    const auto name = rest.substr(0, std::min(rest.find_first_of(blanks), open));
    // A kernel without parameters may be followed by anything that has parentheses.
    const bool own = rest.substr(name.size(), open - name.size()).find_first_not_of(blanks) == none;
    if (own) kinds.emplace(name, kinds_of(rest.substr(open + 1, close - open - 1)));
  }
  return kinds;
}

}  // namespace ouroboros::cuda
