// Whose warps do not wait for each other: plans whose images have a staggered twin.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doubling_plans.hpp"

using namespace ouroboros;
using ouroboros_test::image;
using ouroboros_test::kinds;

namespace {

// Manners of the fake driver's kernel.
constexpr std::uint32_t right = 0;
constexpr std::uint32_t wrong_where_staggered = 12;
constexpr std::uint32_t hangs_where_staggered = 13;

class Plans final : public referee::PlanSource {
 public:
  Plans(std::uint32_t manner, std::string_view twin) : manner_(manner), twin_(twin) {}

  std::vector<referee::Planned> plans(const std::vector<referee::PlanRequest>& requests) override {
    std::vector<referee::Planned> all;
    for (const auto& request : requests) {
      LaunchPlan plan;
      plan.origin = PlanOrigin::specification;
      plan.language = "cuda";
      plan.target = "sm_90";
      plan.buffers = referee::device::signature_of(request.buffers);
      plan.images = {image("cuda13_sm_90.cubin")};
      plan.modules = {{ModuleOrigin::candidate, 0}};
      const auto count = static_cast<std::int64_t>(plan.buffers[0].bytes / 4);
      plan.launches = {ouroboros_test::kernel(0, "scale", 0, 1, count, manner_)};
      all.push_back({{plan}, {}});
    }
    return all;
  }

  std::optional<PlanImage> staggered(const PlanImage& of) override {
    CHECK(of.sha256 == image("cuda13_sm_90.cubin").sha256);
    ++asked;
    if (twin_.empty()) return std::nullopt;
    const auto* data = reinterpret_cast<const std::byte*>(twin_.data());
    return PlanImage{{data, data + twin_.size()}, sha256_hex(twin_.data(), twin_.size())};
  }

  [[nodiscard]] Compilation record() const override { return {}; }

  int asked = 0;

 private:
  std::uint32_t manner_;
  std::string twin_;
};

constexpr const char* twin = "fake twin";

}  // namespace

TEST_CASE("what is wrong where warps are out of step races", "[referee]") {
  const auto outcome = ouroboros_test::swept(std::make_shared<Plans>(wrong_where_staggered, twin));
  CHECK(kinds(outcome) == std::vector<std::string>{"race:error"});
  CHECK(outcome.failure == Status::incorrect);
  CHECK_THAT(outcome.findings.at(0).evidence, ContainsSubstring("some warps sleep"));
  CHECK_THAT(outcome.findings.at(0).evidence, ContainsSubstring("family"));
}

TEST_CASE("a module is made once, and what is right in it is no finding", "[referee]") {
  const auto plans = std::make_shared<Plans>(right, twin);
  const auto outcome = ouroboros_test::swept(plans);
  CHECK(kinds(outcome).empty());
  CHECK_FALSE(outcome.failure.has_value());
  CHECK(plans->asked == 1);
}

TEST_CASE("a twin that cannot be had, or loaded, or ends, says nothing", "[referee]") {
  for (const auto& plans : {std::make_shared<Plans>(wrong_where_staggered, ""),
                            std::make_shared<Plans>(wrong_where_staggered, "no module"),
                            std::make_shared<Plans>(hangs_where_staggered, twin)}) {
    const auto outcome = ouroboros_test::swept(plans);
    CHECK(kinds(outcome).empty());
    CHECK_FALSE(outcome.failure.has_value());
  }
}
