#pragma once

#include <algorithm>
#include <string_view>

namespace ouroboros {

/// Whether a name is letters, digits and underscores, the first of them no digit.
inline bool is_identifier(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace ouroboros
