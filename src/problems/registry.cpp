#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>

#include "ouroboros/error.hpp"
#include "problems/shipped.hpp"

namespace ouroboros::problems {
namespace {

struct Entry {
  std::string_view name;
  Problem (*make)();
};

constexpr std::array entries = {
    Entry{"softmax", shipped::softmax},
    Entry{"log_softmax", shipped::log_softmax},
    Entry{"rmsnorm", shipped::rmsnorm},
    Entry{"layernorm", shipped::layernorm},
    Entry{"add_rmsnorm", shipped::add_rmsnorm},
    Entry{"add_rmsnorm_gelu", shipped::add_rmsnorm_gelu},
    Entry{"layernorm_silu", shipped::layernorm_silu},
    Entry{"swiglu", shipped::swiglu},
    Entry{"geglu", shipped::geglu},
    Entry{"rope", shipped::rope},
    Entry{"cross_entropy", shipped::cross_entropy},
    Entry{"cumsum", shipped::cumsum},
};

}  // namespace

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Entry& entry : entries) all.emplace_back(entry.name);
  return all;
}

Problem get(std::string_view name) {
  for (const Entry& entry : entries) {
    if (entry.name != name) continue;
    Problem problem = entry.make();
    problem.name = entry.name;
    problem.origin = fmt::format("builtin:{}", entry.name);
    return problem;
  }
  throw Error(ErrorCode::not_found,
              fmt::format("no problem named '{}' ships with the library; there are: {}", name,
                          fmt::join(names(), ", ")));
}

}  // namespace ouroboros::problems
