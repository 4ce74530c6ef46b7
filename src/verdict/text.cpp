#include "verdict/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ouroboros::text {
namespace {

struct Decoded {
  char32_t point = 0;
  std::size_t bytes = 0;  // 0: no UTF-8 begins here.
};

Decoded decode(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || bytes.size() < length) return {};
  char32_t point = lead & (0xFF >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    point = (point << 6) | (byte(i) & 0x3F);
  }
  const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  if (overlong || surrogate || point > 0x10FFFF) return {};
  return {point, length};
}

bool steers_display(char32_t point) {
  const bool control = point < 0x20 || (point >= 0x7F && point < 0xA0);
  const bool separator = point == 0x2028 || point == 0x2029;
  const bool direction = point == 0x200E || point == 0x200F || point == 0x061C ||
                         (point >= 0x202A && point <= 0x202E) ||
                         (point >= 0x2066 && point <= 0x2069);
  return control || separator || direction;
}

/// Without its middle where it is longer than `most` bytes: compilers say at the end what is wrong.
std::string shortened(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  const auto is_inside = [&text](std::size_t at) { return (text[at] & 0xc0) == 0x80; };
  std::size_t head = most / 2;
  while (head > 0 && is_inside(head)) --head;
  std::size_t tail = text.size() - most / 2;
  while (tail < text.size() && is_inside(tail)) ++tail;
  return text.substr(0, head) + " ... " + text.substr(tail);
}

}  // namespace

std::string printable(std::string_view bytes, std::size_t most) {
  std::string result;
  while (!bytes.empty()) {
    const Decoded next = decode(bytes);
    const std::size_t length = next.bytes == 0 ? 1 : next.bytes;
    if (next.point == '\n' || next.point == '\t') {
      result.push_back(' ');
    } else if (next.bytes == 0 || steers_display(next.point)) {
      result.push_back('?');
    } else {
      result.append(bytes.substr(0, length));
    }
    bytes.remove_prefix(length);
  }
  return shortened(result, most);
}

std::vector<std::string> error_lines(std::string_view log, std::size_t most) {
  constexpr std::size_t longest_line = 240;
  std::size_t begin = 0;
  for (const std::string_view mark : {"error:", "undefined", "error"}) {
    const std::size_t found = log.find(mark);
    if (found == std::string_view::npos) continue;
    const std::size_t line_break = log.rfind('\n', found);
    begin = line_break == std::string_view::npos ? 0 : line_break + 1;
    break;
  }
  std::vector<std::string> lines;
  while (begin < log.size() && lines.size() < most) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    const std::string_view line = log.substr(begin, end - begin);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      lines.push_back(printable(line, longest_line));
    }
    begin = end + 1;
  }
  return lines;
}

std::string join(std::span<const std::string> names) {
  std::string result;
  for (const std::string& name : names) {
    if (!result.empty()) result += ", ";
    result += printable(name);
  }
  return result;
}

std::string axes(const std::map<std::string, std::int64_t>& values) {
  std::string result;
  for (const auto& [name, value] : values) {
    if (!result.empty()) result += ' ';
    result += fmt::format("{}={}", printable(name), value);
  }
  return result;
}

std::string figure(double value) {
  const double size = std::abs(value);
  // From here on the digits before the point are three or more; an exponent would only hide them.
  if (size >= 100.0 && size < 1e6) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3g}", value);
}

std::string times_allowed(double error_over_allowed) {
  constexpr double beyond_figures = 1e30;
  const bool tells = error_over_allowed < beyond_figures;  // False for NaN.
  return tells ? figure(error_over_allowed) + " times" : "beyond any multiple of";
}

std::string ratio(const timing::Interval& interval) {
  return fmt::format("{:.2f}x [{:.2f}, {:.2f}]", interval.estimate, interval.low, interval.high);
}

std::string latency(const timing::Interval& interval_us) {
  return fmt::format("{} us [{}, {}]", figure(interval_us.estimate), figure(interval_us.low),
                     figure(interval_us.high));
}

std::string count(std::int64_t number, std::string_view singular) {
  return fmt::format("{} {}{}", number, singular, number == 1 ? "" : "s");
}

}  // namespace ouroboros::text
