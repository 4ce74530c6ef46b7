#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compile/cuda/specification.hpp"

namespace ouroboros::cuda {

struct Token {
  enum class Kind : std::uint8_t { word, integer, real, symbol, end_of_statement };
  Kind kind = Kind::end_of_statement;
  Position at;
  std::string text;
};

/// The words of a source's `//!` lines. A statement ends with its line, unless a bracket is open.
/// Throws `SpecificationFault`.
[[nodiscard]] std::vector<Token> tokenise(std::string_view source);

}  // namespace ouroboros::cuda
