// Whose kernels do the work: plans with a library's kernels, on a driver that runs on the host.

#include <memory>
#include <string>
#include <vector>

#include "doubling_plans.hpp"

using namespace ouroboros;
using ouroboros_test::image;
using ouroboros_test::kernel;
using ouroboros_test::kinds;

namespace {

constexpr std::uint32_t wobble = 5;  ///< A manner of the fake driver's: right, but not to the bit.

/// Who does what in plans of a kernel that doubles its input and of one whose first element is
/// wrong: `remember` counts there.
enum class Work {
  library,  ///< The candidate's kernel is overwritten by the library's.
  both,     ///< The library's is overwritten by the candidate's.
  own,      ///< There is no library's.
  touched,  ///< The candidate's does the library's work again, but not to the bit.
};

class Plans final : public referee::PlanSource {
 public:
  explicit Plans(Work work) : work_(work) {}

  std::vector<referee::Planned> plans(const std::vector<referee::PlanRequest>& requests) override {
    std::vector<referee::Planned> all;
    for (const auto& request : requests) {
      LaunchPlan plan;
      plan.origin = PlanOrigin::live_trace;
      plan.language = "triton";
      plan.target = "sm_90";
      plan.buffers = referee::device::signature_of(request.buffers);
      plan.images = {image("cuda13_sm_90.cubin"), image("globals.cubin")};
      const bool scale_is_library = work_ == Work::library || work_ == Work::touched;
      plan.modules = {{scale_is_library ? ModuleOrigin::library : ModuleOrigin::candidate, 0},
                      {work_ == Work::both ? ModuleOrigin::library : ModuleOrigin::candidate, 1}};
      const auto count = static_cast<std::int64_t>(plan.buffers[0].bytes / 4);
      plan.launches = {kernel(1, "remember", 0, 1, count), kernel(0, "scale", 0, 1, count)};
      if (work_ == Work::touched) {
        plan.modules.push_back({ModuleOrigin::candidate, 0});
        plan.launches.emplace_back(kernel(2, "scale", 0, 1, count, wobble));
      }
      all.push_back({{plan}, {}});
    }
    return all;
  }

  [[nodiscard]] Compilation record() const override { return {}; }

 private:
  Work work_;
};

SweepOutcome swept(Work work, LibraryKernels policy) {
  return ouroboros_test::swept(std::make_shared<Plans>(work), policy);
}

using Kinds = std::vector<std::string>;

}  // namespace

TEST_CASE("a kernel that a library's overwrites is a decoy", "[referee]") {
  const auto outcome = swept(Work::library, LibraryKernels::allow);
  CHECK(kinds(outcome) == Kinds{"decoy_kernel:cheat"});
  CHECK(outcome.failure == Status::rejected);
  CHECK_THAT(outcome.findings.at(0).evidence, ContainsSubstring("(remember)"));
}

TEST_CASE("a kernel that changes a bit of what a library computed is a decoy", "[referee]") {
  const auto outcome = swept(Work::touched, LibraryKernels::allow);
  CHECK(outcome.failure == Status::rejected);
  REQUIRE_FALSE(outcome.findings.empty());
  CHECK(kinds(outcome).back() == "decoy_kernel:cheat");
}

TEST_CASE("where libraries are only reported, so is a decoy", "[referee]") {
  const auto outcome = swept(Work::library, LibraryKernels::report);
  CHECK(kinds(outcome) == Kinds{"decoy_kernel:note", "library_kernels:note"});
  CHECK_FALSE(outcome.failure.has_value());
}

TEST_CASE("a kernel that contributes is no decoy, whatever stands beside it", "[referee]") {
  for (const auto work : {Work::both, Work::own}) {
    const auto outcome = swept(work, LibraryKernels::allow);
    CHECK(kinds(outcome).empty());
    CHECK_FALSE(outcome.failure.has_value());
    CHECK(outcome.record.cases_passed == outcome.record.cases_total);
    CHECK(outcome.device_time_share.at("scale") + outcome.device_time_share.at("remember") ==
          Approx(1));
    CHECK(outcome.device_time_share.at("scale") == Approx(0.5).epsilon(0.01));
  }
}

TEST_CASE("where libraries are forbidden, theirs is no plan to replay", "[referee]") {
  const auto outcome = swept(Work::library, LibraryKernels::forbid);
  CHECK(kinds(outcome) == Kinds{"library_kernel:cheat"});
  CHECK(outcome.failure == Status::rejected);
}
