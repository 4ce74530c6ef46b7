// Fuzzes everything that reads a launch plan or a cubin: any bytes must be refused with an error of
// the library's or read, and what was read must keep its bytes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <vector>

#include "ouroboros/error.hpp"
#include "ouroboros/launch_plan.hpp"
#include "ouroboros/plan.hpp"

namespace {

using namespace ouroboros;

constexpr std::size_t hash_at = 24;
constexpr std::size_t header_bytes = 56;

// The hash hides everything behind it from a fuzzer: it is made right, most of the time.
void seal(std::vector<std::byte>& file) {
  if (file.size() < header_bytes || std::to_integer<unsigned>(file[hash_at]) == 0xFF) return;
  const auto digit = [](char c) {
    return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
  };
  const std::string hex = sha256_hex(file.data() + header_bytes, file.size() - header_bytes);
  for (std::size_t i = 0; i < 32; ++i) {
    file[hash_at + i] = std::byte(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
  }
}

void require(bool holds) {
  if (!holds) std::abort();
}

template <class Call>
auto refused_or(Call&& call) -> std::optional<decltype(call())> {
  try {
    return call();
  } catch (const Error& error) {
    require(error.code() == ErrorCode::invalid_argument);
    return std::nullopt;
  }
}

void read_cubin(std::span<const std::byte> bytes) {
  static_cast<void>(refused_or([&] { return cubin_target(bytes); }));
  static_cast<void>(refused_or([&] { return kernel_resources(bytes); }));
  static_cast<void>(refused_or([&] { return module_memory(bytes); }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  read_cubin(bytes);

  std::vector<std::byte> file(bytes.begin(), bytes.end());
  seal(file);
  const std::optional<LaunchPlan> plan = refused_or([&] { return LaunchPlan::parse(file); });
  if (!plan) return 0;
  PlanRules rules;
  std::copy_if(plan->buffers.begin(), plan->buffers.end(), std::back_inserter(rules.signature),
               [](const PlanBuffer& buffer) {
                 return buffer.role == PlanRole::input || buffer.role == PlanRole::output;
               });
  for (const PlanRefusal& refusal : audit(*plan, rules)) {
    // The plan's own signature cannot be another one.
    require(!refusal.kind.ends_with("_shape") && !refusal.kind.ends_with("_strides"));
  }
  for (const PlanImage& image : plan->images) read_cubin(image.bytes);
  const std::vector<std::byte> once = plan->serialise();
  require(LaunchPlan::parse(once).serialise() == once);
  return 0;
}
