#include "compile/cuda/stagger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace ouroboros::cuda {
namespace {

// One warp of eight sleeps after a barrier, for twice 0.25, 0.5, 1 or 2 us at most: longer than
// the few instructions and reads until the next barrier take, and short enough for loops of many.
constexpr std::string_view nap = R"(
{
.reg .pred %ouroboros_p;
.reg .b32 %ouroboros_a, %ouroboros_b;
mov.u32 %ouroboros_a, %clock;
mov.u32 %ouroboros_b, %warpid;
mul.lo.u32 %ouroboros_b, %ouroboros_b, 0x9e3779b1;
xor.b32 %ouroboros_a, %ouroboros_a, %ouroboros_b;
mul.lo.u32 %ouroboros_a, %ouroboros_a, 0x85ebca6b;
shr.u32 %ouroboros_b, %ouroboros_a, 15;
xor.b32 %ouroboros_a, %ouroboros_a, %ouroboros_b;
mul.lo.u32 %ouroboros_a, %ouroboros_a, 0xc2b2ae35;
shr.u32 %ouroboros_b, %ouroboros_a, 29;
setp.eq.u32 %ouroboros_p, %ouroboros_b, 0;
shr.u32 %ouroboros_b, %ouroboros_a, 27;
and.b32 %ouroboros_b, %ouroboros_b, 3;
shl.b32 %ouroboros_b, 250, %ouroboros_b;
@%ouroboros_p nanosleep.u32 %ouroboros_b;
)";

// Where a kernel begins, one warp of 64 sleeps for a long time besides: its block is late.
constexpr std::string_view long_sleep = R"(
shr.u32 %ouroboros_b, %ouroboros_a, 21;
and.b32 %ouroboros_b, %ouroboros_b, 63;
setp.eq.u32 %ouroboros_p, %ouroboros_b, 0;
@%ouroboros_p nanosleep.u32 50000;
)";

constexpr std::string_view closed = "}\n";

// Not a warp's wait for its own lanes, which sleep together.
constexpr std::array<std::string_view, 13> waits = {
    "bar.sync",           "bar.red",        "bar.cta.sync",         "bar.cta.red",
    "barrier.sync",       "barrier.red",    "barrier.cta.sync",     "barrier.cta.red",
    "mbarrier.test_wait", "cp.async.wait_", "barrier.cluster.wait", "mbarrier.try_wait",
    "cp.async.bulk.wait_"};

bool is_space(char one) { return std::isspace(static_cast<unsigned char>(one)) != 0; }

bool is_name(char one) {
  return std::isalnum(static_cast<unsigned char>(one)) != 0 || one == '_' || one == '$' ||
         one == '%';
}

/// What a statement does: "bar.sync" in "AGAIN: @!%p1 bar.sync 0".
std::string_view operation(std::string_view statement) {
  const auto first_not = [&statement](auto which, std::size_t from) {
    while (from < statement.size() && which(statement[from])) ++from;
    return from;
  };
  std::size_t at = first_not(is_space, 0);
  for (;;) {
    const auto colon = first_not(is_space, first_not(is_name, at));
    const auto rest = statement.substr(colon);
    if (!rest.starts_with(':') || rest.starts_with("::")) break;
    at = first_not(is_space, colon + 1);
  }
  if (statement.substr(at).starts_with('@')) {
    at = first_not([](char one) { return one == '@' || one == '!' || is_space(one); }, at);
    at = first_not(is_space, first_not(is_name, at));
  }
  const auto after = first_not([](char one) { return !is_space(one); }, at);
  return statement.substr(at, after - at);
}

bool is_wait(std::string_view statement) {
  const auto what = operation(statement);
  return std::any_of(waits.begin(), waits.end(),
                     [what](std::string_view wait) { return what.starts_with(wait); });
}

/// Code is looked at without its comments, statement by statement; text is copied as it is.
class Stagger {
 public:
  explicit Stagger(std::string_view ptx) : ptx_(ptx) {}

  std::string run() {
    while (at_ < ptx_.size()) {
      if (starts("//")) {
        copy_through("\n");
      } else if (starts("/*")) {
        copy_through("*/");
      } else if (starts("\"")) {
        take();
        copy_through("\"");
      } else {
        see(take());
      }
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool starts(std::string_view what) const {
    return ptx_.substr(at_).starts_with(what);
  }

  char take() {
    out_ += ptx_[at_];
    return ptx_[at_++];
  }

  void copy_through(std::string_view what) {
    const auto found = ptx_.find(what, at_);
    const auto end = found == std::string_view::npos ? ptx_.size() : found + what.size();
    out_ += ptx_.substr(at_, end - at_);
    at_ = end;
    statement_ += ' ';
  }

  void see(char one) {
    const bool ends = one == ';' || one == '{' || one == '}';
    if (!ends) {
      statement_ += one;
      return;
    }
    if (one == ';' && depth_ > 0 && is_wait(statement_)) {
      out_ += fmt::format("{}{}", nap, closed);
    }
    if (one == '{' && depth_ == 0 && statement_.find(".entry") != std::string::npos) {
      out_ += fmt::format("{}{}{}", nap, long_sleep, closed);
    }
    depth_ += one == '{' ? 1 : 0;
    depth_ -= one == '}' ? 1 : 0;
    statement_.clear();
  }

  std::string_view ptx_;
  std::string out_;
  std::string statement_;  ///< What has been seen of it.
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string staggered(std::string_view ptx) { return Stagger(ptx).run(); }

}  // namespace ouroboros::cuda
