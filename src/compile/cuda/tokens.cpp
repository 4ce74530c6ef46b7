#include "compile/cuda/tokens.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace ouroboros::cuda {
namespace {

constexpr std::size_t most_tokens = 1 << 16;

// Longest first, so that "<<<" is not read as "<" thrice.
constexpr std::array<std::string_view, 29> symbols = {
    "<<<", ">>>", "<=", ">=", "==", "!=", "<", ">", "=", "+", "-", "*", "/", "%", "(",
    ")",   "[",   "]",  "{",  "}",  ",",  ":", ".", "&", "!", ";", "|", "@", "^"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

class Tokeniser {
 public:
  void line(std::string_view text, Position at) {
    for (std::size_t i = 0; i < text.size();) {
      if (is_blank(text[i])) {
        ++i;
        continue;
      }
      const Position here{at.line, at.column + static_cast<std::uint32_t>(i)};
      const std::size_t length = one(text.substr(i), here);
      i += length;
    }
    if (open_.empty() && !tokens_.empty() && tokens_.back().kind != Token::Kind::end_of_statement) {
      add(Token::Kind::end_of_statement, "",
          {at.line, at.column + static_cast<std::uint32_t>(text.size())});
    }
  }

  std::vector<Token> finish() {
    if (!open_.empty()) {
      throw SpecificationFault(
          open_.back().at, fmt::format("the '{}' is not closed: a statement ends with its line, or "
                                       "goes on in the next '//!' line while a bracket is open",
                                       open_.back().text));
    }
    return std::move(tokens_);
  }

 private:
  std::size_t one(std::string_view text, Position at) {
    std::size_t length = 0;
    if (is_letter(text[0])) {
      while (length < text.size() && (is_letter(text[length]) || is_digit(text[length]))) ++length;
      add(Token::Kind::word, text.substr(0, length), at);
      return length;
    }
    if (is_digit(text[0])) return number(text, at);
    if (text.starts_with("//")) {
      throw SpecificationFault(
          at, "'//' means nothing here: '/' rounds down, and comments have lines of their own");
    }
    for (const auto symbol : symbols) {
      if (text.substr(0, symbol.size()) == symbol) {
        bracket(symbol, at);
        add(Token::Kind::symbol, symbol, at);
        return symbol.size();
      }
    }
    if (text[0] == '?') {
      throw SpecificationFault(at, "there is no '?': write 'if', or what min and max can say");
    }
    const auto byte = static_cast<unsigned char>(text[0]);
    throw SpecificationFault(
        at, byte > 0x20 && byte < 0x7F
                ? fmt::format("'{}' means nothing in a launch specification", text[0])
                : fmt::format("the byte 0x{:02x} means nothing in a launch specification", byte));
  }

  std::size_t number(std::string_view text, Position at) {
    std::size_t length = 0;
    bool real = false;
    const bool hexadecimal =
        text.size() > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    while (length < text.size()) {
      const char c = text[length];
      const bool sign = (c == '+' || c == '-') && !hexadecimal && length > 0 &&
                        (text[length - 1] == 'e' || text[length - 1] == 'E');
      if (!is_digit(c) && !is_letter(c) && c != '.' && !sign) break;
      real = real || c == '.' || (!hexadecimal && (c == 'e' || c == 'E'));
      ++length;
    }
    add(real ? Token::Kind::real : Token::Kind::integer, text.substr(0, length), at);
    return length;
  }

  void bracket(std::string_view symbol, Position at) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> pairs = {
        {{"(", ")"}, {"[", "]"}, {"{", "}"}, {"<<<", ">>>"}}};
    for (const auto& [open, close] : pairs) {
      if (symbol == open) open_.push_back({Token::Kind::symbol, at, std::string(symbol)});
      if (symbol != close) continue;
      if (open_.empty() || open_.back().text != open) {
        throw SpecificationFault(at, fmt::format("the '{}' closes nothing", symbol));
      }
      open_.pop_back();
    }
  }

  void add(Token::Kind kind, std::string_view text, Position at) {
    if (tokens_.size() >= most_tokens) {
      throw SpecificationFault(
          at, fmt::format("the launch specification has more than {} words", most_tokens));
    }
    tokens_.push_back({kind, at, std::string(text)});
  }

  std::vector<Token> tokens_;
  std::vector<Token> open_;
};

}  // namespace

std::vector<Token> tokenise(std::string_view source) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (source.starts_with(byte_order_mark)) source.remove_prefix(byte_order_mark.size());
  Tokeniser tokeniser;
  Position at;
  while (!source.empty()) {
    const auto line = source.substr(0, source.find('\n'));
    const auto first = line.find_first_not_of(" \t");
    if (first != std::string_view::npos && line.substr(first, 3) == "//!") {
      at.column = static_cast<std::uint32_t>(first) + 4;
      tokeniser.line(line.substr(first + 3), at);
    }
    source.remove_prefix(std::min(line.size() + 1, source.size()));
    ++at.line;
  }
  return tokeniser.finish();
}

}  // namespace ouroboros::cuda
