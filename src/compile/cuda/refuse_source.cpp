#include "compile/cuda/refuse_source.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace ouroboros::cuda {
namespace {

/// A line as the preprocessor sees it: joined at backslashes, comments one blank.
struct LogicalLine {
  std::size_t number = 0;  ///< In the source.
  std::string text;        ///< With literals: what a directive is made of.
  std::string code;        ///< Without what is in them.
};

class LineReader {
 public:
  explicit LineReader(std::string_view source) : rest_(source) {}

  std::vector<LogicalLine> read() {
    std::vector<LogicalLine> lines;
    LogicalLine line{number_, {}, {}};
    const auto finish = [&] {
      lines.push_back(std::move(line));
      line = {number_, {}, {}};
    };
    while (more()) {
      const char c = take();
      if (c == '\n') {
        finish();
      } else if (c == '/' && peek() == '/') {
        while (more() && peek() != '\n') take();
      } else if (c == '/' && peek() == '*') {
        // The standard makes a comment one blank; NVRTC begins a line where a comment has ended
        // one.
        if (skip_comment()) finish();
        line.text += ' ';
        line.code += ' ';
      } else if (c == '"' && raw_prefix(line.code)) {
        skip_raw_string();
      } else if (c == '"' || (c == '\'' && !digit_before(line.code))) {
        literal(c, line.text);
        line.code += c;
        line.code += c;
      } else {
        line.text += c;
        line.code += c;
      }
    }
    finish();
    return lines;
  }

 private:
  // A backslash at a line's end joins it with the next, wherever it stands.
  void splice() {
    for (;;) {
      if (rest_.starts_with("\\\n")) {
        rest_.remove_prefix(2);
      } else if (rest_.starts_with("\\\r\n")) {
        rest_.remove_prefix(3);
      } else {
        return;
      }
      ++number_;
    }
  }
  bool more() {
    splice();
    return !rest_.empty();
  }
  char peek() {
    splice();
    return rest_.empty() ? '\0' : rest_.front();
  }
  char take() {
    splice();
    const char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == '\n') ++number_;
    return c;
  }

  /// Whether there is an end of a line in the comment.
  bool skip_comment() {
    take();
    bool ended_line = false;
    while (more()) {
      const char c = take();
      ended_line = ended_line || c == '\n';
      if (c == '*' && peek() == '/') {
        take();
        break;
      }
    }
    return ended_line;
  }

  void literal(char quote, std::string& text) {
    text += quote;
    while (more() && peek() != '\n') {
      const char c = take();
      text += c;
      if (c == quote) return;
      if (c == '\\' && more() && peek() != '\n') text += take();
    }
  }

  // R"delimiter( ... )delimiter", in which nothing is joined.
  void skip_raw_string() {
    const auto open = rest_.find('(');
    if (open == std::string_view::npos) return;
    const auto close = ")" + std::string(rest_.substr(0, open)) + "\"";
    const auto end = rest_.find(close, open);
    const auto length = end == std::string_view::npos ? rest_.size() : end + close.size();
    for (const char c : rest_.substr(0, length)) number_ += c == '\n' ? 1 : 0;
    rest_.remove_prefix(length);
  }

  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  static bool raw_prefix(const std::string& code) {
    std::size_t begin = code.size();
    while (begin > 0 && is_word(code[begin - 1])) --begin;
    const auto word = code.substr(begin);
    return word == "R" || word == "LR" || word == "uR" || word == "UR" || word == "u8R";
  }
  static bool digit_before(const std::string& code) {  // 1'000'000
    return !code.empty() && is_word(code.back());
  }

  std::string_view rest_;
  std::size_t number_ = 1;
};

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\v\f");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\v\f") - first + 1);
}

struct Included {
  std::string_view directive;
  std::string_view what;  ///< That follows it.
};

/// `#include` and its kin; empty for other lines.
std::optional<Included> included(std::string_view line) {
  line = trimmed(line);
  if (line.starts_with("#")) {
    line.remove_prefix(1);
  } else if (line.starts_with("%:")) {
    line.remove_prefix(2);
  } else {
    return std::nullopt;
  }
  line = trimmed(line);
  for (const std::string_view directive : {"include_next", "include", "import", "embed"}) {
    if (!line.starts_with(directive)) continue;
    return Included{directive, trimmed(line.substr(directive.size()))};
  }
  return std::nullopt;
}

bool is_plain_header(std::string_view what) {
  if (what.size() < 3) return false;
  const char close = what.front() == '<' ? '>' : what.front() == '"' ? '"' : '\0';
  const auto end = what.find(close, 1);
  if (close == '\0' || end == std::string_view::npos) return false;
  const auto name = what.substr(1, end - 1);
  return !name.empty() && name.front() != '/' && name.find("..") == std::string_view::npos &&
         name.find('\\') == std::string_view::npos;
}

}  // namespace

std::optional<std::string> refuse_cuda_source(const std::string& source) {
  for (const auto& line : LineReader(source).read()) {
    if (const auto found = included(line.text); found && !is_plain_header(found->what)) {
      return fmt::format(
          "line {}: '#{} {}' is refused: a source may include CUDA's headers "
          "by their names, and no other file",
          line.number, found->directive, found->what);
    }
    if (line.code.find("<<<") != std::string::npos) {
      return fmt::format(
          "line {}: '<<<' is refused: kernels are launched by the launch "
          "specification ('//! launch ...'), not by code",
          line.number);
    }
  }
  return std::nullopt;
}

}  // namespace ouroboros::cuda
