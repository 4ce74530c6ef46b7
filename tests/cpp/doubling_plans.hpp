#pragma once

// Before Catch, so that CHECK is its own and not LibTorch's: who includes this includes it first.
#include <ATen/ops/mul.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "ouroboros/plan.hpp"
#include "referee/device/device.hpp"
#include "referee/device/plan_source.hpp"

/// Sweeps of plans that double their input, on a driver that runs on the host.
namespace ouroboros_test {

using namespace ouroboros;

/// One of tests/data/cubin.
inline PlanImage image(const std::string& name) {
  std::ifstream file(std::string(OUROBOROS_SOURCE_DIR) + "/tests/data/cubin/" + name,
                     std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
  const auto* data = reinterpret_cast<const std::byte*>(chars.data());
  std::vector<std::byte> bytes(data, data + chars.size());
  REQUIRE_FALSE(bytes.empty());
  auto digest = sha256_hex(bytes.data(), bytes.size());
  return {std::move(bytes), std::move(digest)};
}

/// kernel(from, to, count), with the parameters that its cubin declares.
inline KernelLaunch kernel(std::uint32_t module, const char* function, std::uint32_t from,
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

/// Twice its input.
inline Problem doubling() {
  Problem problem;
  problem.name = "double";
  problem.axes = {{.name = "n", .minimum = 1, .maximum = 300}};
  problem.inputs = {{.name = "x", .shape = {{1, "n"}}}};
  problem.timed = {{{"n", 100}}};
  problem.reference = [](const Tensors& inputs) { return Tensors{at::mul(inputs[0], 2)}; };
  problem.check();
  return problem;
}

/// What the plans of `source` come to.
inline SweepOutcome swept(std::shared_ptr<referee::PlanSource> source,
                          LibraryKernels policy = LibraryKernels::forbid) {
  setenv("OUROBOROS_LIBCUDA", OUROBOROS_GOOD_FAKE_CUDA, 1);
  auto problem = doubling();
  problem.policies.library_kernels = policy;
  Compiled compiled;
  compiled.candidate = {"", "candidate", "triton"};
  compiled.plans = std::move(source);
  Options options;
  const auto pool = referee::draw_cases(problem, {DType::float32}, 7, options);
  REQUIRE_FALSE(pool.fault.has_value());
  auto outcome = referee::device::sweep(problem, compiled, pool, options);
  CHECK(outcome.record.cases_total > 4);
  return outcome;
}

/// "kind:severity" of each finding.
inline std::vector<std::string> kinds(const SweepOutcome& outcome) {
  std::vector<std::string> result;
  for (const auto& finding : outcome.findings) {
    UNSCOPED_INFO(finding.evidence);
    result.push_back(finding.kind + ":" + finding.severity);
  }
  return result;
}

}  // namespace ouroboros_test
