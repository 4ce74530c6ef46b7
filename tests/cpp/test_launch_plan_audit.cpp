#include <functional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "launch_plans.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/launch_plan.hpp"

using namespace ouroboros;
using namespace ouroboros_test;

namespace {

const std::string folder = std::string(OUROBOROS_SOURCE_DIR) + "/tests/data/cubin/";

// out[i] = factor * x[...] by a real kernel: scale(float* out, const float* x, float, int).
LaunchPlan sound_plan() {
  LaunchPlan plan;
  plan.language = "cuda";
  plan.target = "sm_90";
  plan.images = {{read_bytes(folder + "cuda13_sm_90.cubin"), std::string(64, '0')}};
  plan.buffers = {{"x", PlanRole::input, 1024, DType::float32, {16, 16}, {16, 1}, {}},
                  {"out", PlanRole::output, 1024, DType::float32, {16, 16}, {16, 1}, {}},
                  {"work", PlanRole::scratch, 4096, {}, {}, {}, {}}};
  plan.modules = {{ModuleOrigin::candidate, 0}};
  KernelLaunch kernel;
  kernel.function = "scale";
  kernel.block = {256, 1, 1};
  kernel.parameters.resize(24);
  kernel.fields = {{0, 8}, {8, 8}, {16, 4}, {20, 4}};
  kernel.pointers = {{0, {1, 0}}, {8, {0, 0}}};
  plan.launches = {kernel};
  return plan;
}

PlanRules rules() {
  PlanRules result;
  const LaunchPlan plan = sound_plan();
  result.signature = {plan.buffers[0], plan.buffers[1]};
  return result;
}

KernelLaunch& kernel_of(LaunchPlan& plan) { return std::get<KernelLaunch>(plan.launches[0]); }

std::vector<std::string> kinds(const LaunchPlan& plan, const PlanRules& rules) {
  std::vector<std::string> result;
  for (const PlanRefusal& refusal : audit(plan, rules)) {
    CHECK(refusal.evidence.ends_with('.'));
    result.push_back(refusal.kind);
  }
  return result;
}

using Kinds = std::vector<std::string>;

// What the audit says after a change to the plan, and to the rules.
Kinds after(
    const std::function<void(LaunchPlan&)>& change,
    const std::function<void(PlanRules&)>& change_rules = [](PlanRules&) {}) {
  LaunchPlan plan = sound_plan();
  PlanRules changed = rules();
  change(plan);
  change_rules(changed);
  return kinds(plan, changed);
}

void unchanged(LaunchPlan&) {}

}  // namespace

TEST_CASE("a sound plan has nothing against it") { CHECK(after(unchanged) == Kinds{}); }

TEST_CASE("another signature than the problem's is refused by what differs") {
  const auto with = [](const std::function<void(PlanRules&)>& change) {
    return after(unchanged, change);
  };
  CHECK(with([](PlanRules& r) { r.signature.erase(r.signature.begin()); }) == Kinds{"input_count"});
  CHECK(with([](PlanRules& r) { r.signature.push_back(r.signature[1]); }) == Kinds{"output_count"});
  CHECK(with([](PlanRules& r) { r.signature[0].dtype = DType::float16; }) == Kinds{"input_dtype"});
  CHECK(with([](PlanRules& r) { r.signature[0].shape = {8, 32}; }) == Kinds{"input_shape"});
  CHECK(with([](PlanRules& r) { r.signature[0].strides = {1, 16}; }) == Kinds{"input_strides"});
  CHECK(with([](PlanRules& r) { r.signature[1].dtype = DType::int32; }) == Kinds{"output_dtype"});
  CHECK(with([](PlanRules& r) { r.signature[1].shape = {16, 15}; }) == Kinds{"output_shape"});
  CHECK(with([](PlanRules& r) { r.signature[1].strides = {1, 16}; }) == Kinds{"output_strides"});
  CHECK_THROWS_AS(with([](PlanRules& r) { r.signature[1].strides.pop_back(); }), Error);
}

TEST_CASE("strides where there is one element to step to do not matter") {
  const auto one_row = [](std::vector<PlanBuffer>& buffers, std::int64_t stride) {
    for (std::size_t i = 0; i < 2; ++i) {
      buffers[i].shape = {1, 256};
      buffers[i].strides = {stride, 1};
    }
  };
  CHECK(after([&](LaunchPlan& plan) { one_row(plan.buffers, 1); },
              [&](PlanRules& r) { one_row(r.signature, 256); }) == Kinds{});
}

TEST_CASE("policies of the problem are refused by name") {
  CHECK(after([](LaunchPlan& plan) { plan.modules[0].origin = ModuleOrigin::library; }) == Kinds{});
  CHECK(after([](LaunchPlan& plan) { plan.modules[0].origin = ModuleOrigin::library; },
              [](PlanRules& r) { r.library_kernels = false; }) == Kinds{"library_kernel"});
  // Whoever made the plan: a candidate's process may say that a library's kernel is its own.
  for (const char* name :
       {"_ZN2at6native18elementwise_kernelILi128ELi4EEEvi", "nvjet_hsh_128x64"}) {
    const auto renamed = [name](LaunchPlan& plan) { kernel_of(plan).function = name; };
    const auto found = after(renamed, [](PlanRules& r) { r.library_kernels = false; });
    CHECK(found.front() == "library_kernel");
    CHECK(after(renamed).front() != "library_kernel");
  }
  CHECK(after([](LaunchPlan& plan) { plan.launches.push_back(plan.launches[0]); },
              [](PlanRules& r) { r.launches = 1; }) == Kinds{"too_many_launches"});
  CHECK(after(unchanged, [](PlanRules& r) { r.scratch_bytes = 4095; }) ==
        Kinds{"too_much_scratch"});
  CHECK(after(unchanged, [](PlanRules& r) { r.scratch_bytes = 4096; }) == Kinds{});
}

TEST_CASE("launches that leave an output or a module out, or write an input, are refused") {
  CHECK(after([](LaunchPlan& plan) { plan.launches.clear(); }) ==
        Kinds{"no_launch", "output_unreferenced", "module_unreferenced"});
  CHECK(after([](LaunchPlan& plan) { kernel_of(plan).pointers[0].target.buffer = 2; }) ==
        Kinds{"output_unreferenced"});
  CHECK(after([](LaunchPlan& plan) { plan.modules.push_back(plan.modules[0]); }) ==
        Kinds{"module_unreferenced"});
  CHECK(after([](LaunchPlan& plan) {
          plan.launches.emplace_back(MemsetLaunch{{0, 0}, 0, 1, 1});
        }) == Kinds{"input_written"});
  CHECK(after([](LaunchPlan& plan) {
          plan.launches.emplace_back(CopyLaunch{{0, 0}, {2, 0}, 8});
        }) == Kinds{"input_written"});
  CHECK(after([](LaunchPlan& plan) {
          plan.launches.emplace_back(CopyLaunch{{1, 0}, {0, 0}, 8});
        }) == Kinds{});
}

TEST_CASE("launches that no GPU of the target can run are refused") {
  const auto with = [](const std::function<void(KernelLaunch&)>& change) {
    return after([&](LaunchPlan& plan) { change(kernel_of(plan)); });
  };
  CHECK(with([](KernelLaunch& k) { k.grid = {2147483647, 65535, 65535}; }) == Kinds{});
  CHECK(with([](KernelLaunch& k) { k.grid = {2147483648, 1, 1}; }) == Kinds{"grid_too_large"});
  CHECK(with([](KernelLaunch& k) { k.grid = {1, 65536, 1}; }) == Kinds{"grid_too_large"});
  CHECK(with([](KernelLaunch& k) { k.block = {1024, 1, 1}; }) == Kinds{});
  CHECK(with([](KernelLaunch& k) { k.block = {32, 33, 1}; }) == Kinds{"block_too_large"});
  CHECK(with([](KernelLaunch& k) { k.block = {1, 1, 65}; }) == Kinds{"block_too_large"});
  CHECK(with([](KernelLaunch& k) { k.block = {~0u, ~0u, ~0u}; }) == Kinds{"block_too_large"});
  // The kernel has 1 KiB of its own.
  CHECK(with([](KernelLaunch& k) { k.shared_bytes = 226 * 1024; }) == Kinds{});
  CHECK(with([](KernelLaunch& k) { k.shared_bytes = 226 * 1024 + 1; }) ==
        Kinds{"shared_too_large"});
  CHECK(with([](KernelLaunch& k) { k.shared_bytes = ~0u; }) == Kinds{"shared_too_large"});
  const auto clusters = [&](Dim3 grid, Dim3 cluster) {
    return with([&](KernelLaunch& k) {
      k.grid = grid;
      k.cluster = cluster;
    });
  };
  CHECK(clusters({8, 2, 1}, {8, 2, 1}) == Kinds{});
  CHECK(clusters({17, 1, 1}, {17, 1, 1}) == Kinds{"cluster_invalid"});
  CHECK(clusters({9, 1, 1}, {2, 1, 1}) == Kinds{"cluster_invalid"});
}

TEST_CASE("a module has to be a cubin that runs on the plan's target") {
  const auto on = [](const char* target, const char* cubin) {
    return after([&](LaunchPlan& plan) {
      plan.target = target;
      plan.images[0].bytes = read_bytes(folder + cubin);
    });
  };
  CHECK(on("sm_90", "cuda13_sm_90.cubin") == Kinds{});
  CHECK(on("sm_90a", "cuda13_sm_90.cubin") == Kinds{});
  CHECK(on("sm_90", "cuda12_sm_90a.cubin") == Kinds{});
  CHECK(on("sm_100", "cuda13_sm_90.cubin") == Kinds{"wrong_architecture"});
  CHECK(on("sm_80", "cuda12_sm_90a.cubin") == Kinds{"wrong_architecture"});
  CHECK(on("sm_90", "kernels.cu") == Kinds{"not_a_cubin"});
}

TEST_CASE("memory that modules have of their own is bounded, and the heap refused") {
  const auto with = [](const char* cubin, std::uint64_t scratch) {
    return after(
        [&](LaunchPlan& plan) {
          plan.images[0].bytes = read_bytes(folder + cubin);
          plan.launches.resize(1);
          kernel_of(plan).function = "none";
        },
        [&](PlanRules& r) { r.scratch_bytes = scratch; });
  };
  CHECK(with("globals.cubin", 4096 + 68) == Kinds{"unknown_function"});
  CHECK(with("globals.cubin", 4096 + 67) == Kinds{"too_much_scratch", "unknown_function"});
  CHECK(with("heap.cubin", 4096) == Kinds{"device_heap", "unknown_function"});
}

TEST_CASE("a tensor map has to lie in its buffer") {
  const auto with = [](const ParameterTensorMap& map) {
    return after([&](LaunchPlan& plan) {
      auto& kernel = kernel_of(plan);
      kernel.parameters.resize(32 + 128);
      kernel.fields.push_back({32, 128});
      kernel.tensor_maps = {map};
      kernel.function = "none";
    });
  };
  // Buffer 2 has 4096 bytes. Two rows of float16, 1024 bytes apart, the last one of 64 elements.
  ParameterTensorMap map{32, {2, 0}, 6, {64, 2}, {1024}, {64, 2}, {1, 1}, 0, 0, 0, 0};
  CHECK(with(map) == Kinds{"unknown_function"});
  map.sizes = {64, 4};
  map.target.offset = 4096 - 3 * 1024 - 128;
  CHECK(with(map) == Kinds{"unknown_function"});
  map.target.offset += 16;
  CHECK(with(map) == Kinds{"tensor_map_outside", "unknown_function"});
  map.target.offset = 0;
  map.sizes = {std::uint64_t{1} << 32, std::uint64_t{1} << 32};
  map.strides_bytes = {(std::uint64_t{1} << 40) - 16};
  CHECK(with(map) == Kinds{"tensor_map_outside", "unknown_function"});
  map = {32, {2, 0}, 13, {8192}, {}, {16}, {1}, 0, 0, 0, 0};  // Two elements a byte.
  CHECK(with(map) == Kinds{"unknown_function"});
  map.sizes = {8193};
  CHECK(with(map) == Kinds{"tensor_map_outside", "unknown_function"});
}

TEST_CASE("a launch has to fit the kernel that the cubin declares") {
  const auto with = [](const std::function<void(KernelLaunch&)>& change) {
    return after([&](LaunchPlan& plan) { change(kernel_of(plan)); });
  };
  CHECK(with([](KernelLaunch& k) { k.function = "scal"; }) == Kinds{"unknown_function"});
  CHECK(with([](KernelLaunch& k) { k.function = "mixed"; }) == Kinds{"parameter_size"});
  CHECK(with([](KernelLaunch& k) { k.parameters.resize(28); }) == Kinds{"parameter_size"});
  CHECK(with([](KernelLaunch& k) { k.fields[2].size = 2; }) == Kinds{"parameter_size"});
  CHECK(with([](KernelLaunch& k) { k.fields.pop_back(); }) == Kinds{"parameter_size"});
  // 32 registers of 1024 threads are half of what a block has.
  CHECK(with([](KernelLaunch& k) {
          k.function = "spills";
          k.block = {1024, 1, 1};
          k.fields = {{0, 8}, {8, 8}};
          k.parameters.resize(16);
        }) == Kinds{});
}

TEST_CASE("the audit collects every refusal") {
  CHECK(after(
            [](LaunchPlan& plan) {
              kernel_of(plan).grid = {1, 1, 65536};
              kernel_of(plan).block = {2048, 1, 1};
              kernel_of(plan).function = "none";
              plan.launches.emplace_back(MemsetLaunch{{0, 0}, 0, 1, 1});
            },
            [](PlanRules& r) {
              r.signature[0].dtype = DType::float16;
              r.scratch_bytes = 0;
            }) == Kinds{"input_dtype", "too_much_scratch", "unknown_function", "grid_too_large",
                        "block_too_large", "input_written"});
}

TEST_CASE("a plan of unsound structure is no matter of the audit") {
  LaunchPlan plan = sound_plan();
  kernel_of(plan).module = 7;
  CHECK_THROWS_AS(audit(plan, rules()), Error);
}
