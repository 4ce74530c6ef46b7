// Whose kernels do the work: plans with a library's kernels, on a driver that runs on the host.

#include <ATen/ops/mul.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "catch.hpp"
#include "ouroboros/plan.hpp"
#include "referee/device/device.hpp"
#include "referee/device/plan_source.hpp"

using namespace ouroboros;

namespace {

PlanImage image(const std::string& name) {
  std::ifstream file(std::string(OUROBOROS_SOURCE_DIR) + "/tests/data/cubin/" + name,
                     std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
  const auto* data = reinterpret_cast<const std::byte*>(chars.data());
  std::vector<std::byte> bytes(data, data + chars.size());
  REQUIRE_FALSE(bytes.empty());
  auto digest = sha256_hex(bytes.data(), bytes.size());
  return {std::move(bytes), std::move(digest)};
}

constexpr std::uint32_t wobble = 5;  ///< A manner of the fake driver's: right, but not to the bit.

/// kernel(from, to, count), with the parameters that its cubin declares.
KernelLaunch kernel(std::uint32_t module, const char* function, std::uint32_t from,
                    std::uint32_t to, std::int64_t count, std::uint32_t manner = 0) {
  KernelLaunch launch;
  launch.module = module;
  launch.function = function;
  launch.pointers = {{0, {from, 0}}, {8, {to, 0}}};
  launch.fields = {{0, 8}, {8, 8}, {16, 4}};
  launch.parameters.resize(20);
  if (launch.function == "scale") {  // Of this one's four the fake driver's kernel takes three.
    launch.fields.push_back({20, 4});
    launch.parameters.resize(24);
    std::memcpy(launch.parameters.data() + 20, &manner, sizeof manner);
  }
  const auto elements = static_cast<std::uint32_t>(count);
  std::memcpy(launch.parameters.data() + 16, &elements, sizeof elements);
  return launch;
}

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
  setenv("OUROBOROS_LIBCUDA", OUROBOROS_GOOD_FAKE_CUDA, 1);
  Problem problem;
  problem.name = "double";
  problem.axes = {{.name = "n", .minimum = 1, .maximum = 300}};
  problem.inputs = {{.name = "x", .shape = {{1, "n"}}}};
  problem.timed = {{{"n", 100}}};
  problem.reference = [](const Tensors& inputs) { return Tensors{at::mul(inputs[0], 2)}; };
  problem.policies.library_kernels = policy;
  problem.check();
  Compiled compiled;
  compiled.candidate = {"", "candidate", "triton"};
  compiled.plans = std::make_shared<Plans>(work);
  Options options;
  const auto pool = referee::draw_cases(problem, {DType::float32}, 7, options);
  REQUIRE_FALSE(pool.fault.has_value());
  auto outcome = referee::device::sweep(problem, compiled, pool, options);
  CHECK(outcome.record.cases_total > 4);
  return outcome;
}

std::vector<std::string> kinds(const SweepOutcome& outcome) {
  std::vector<std::string> result;
  for (const auto& finding : outcome.findings) {
    UNSCOPED_INFO(finding.evidence);
    result.push_back(finding.kind + ":" + finding.severity);
  }
  return result;
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
