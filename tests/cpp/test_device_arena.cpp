// Memory that this process and executors share on the (fake) GPU.

#include <cstring>
#include <numeric>
#include <span>

#include "catch.hpp"
#include "cuda_plans.hpp"
#include "ouroboros/device_arena.hpp"
#include "ouroboros/error.hpp"

using namespace ouroboros;
using namespace ouroboros_test;

namespace {

constexpr std::int64_t count = 1000;

CudaOptions options() {
  CudaOptions result;
  result.libcuda = OUROBOROS_GOOD_FAKE_CUDA;
  result.spare = false;
  return result;
}

PlanBuilder builder() {
  const std::string text = "fake module";
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {count, {bytes, bytes + text.size()}};
}

LaunchPlan plan_of(const std::string& function) {
  auto plan = builder();
  plan.kernel(function);
  return plan.plan();
}

std::span<float> floats(const DeviceArena& arena, std::size_t buffer) {
  return {static_cast<float*>(arena.data(buffer)), static_cast<std::size_t>(count)};
}

}  // namespace

TEST_CASE("a race computes on what this process wrote on the device") {
  const auto executor = CudaExecutor::start(options());
  const OneCall call(count);
  const auto arena = std::make_shared<const DeviceArena>(
      call.arena()->calls()[0], executor->device(), OUROBOROS_GOOD_FAKE_CUDA);
  REQUIRE(arena->on_host());
  CHECK(arena->ordinal() == 0);
  const auto race = executor->open_race({plan_of("scale"), plan_of("skip_tail")}, arena);
  REQUIRE(race->opening().outcome == Outcome::returned);
  for (int round = 1; round <= 2; ++round) {
    const auto in = floats(*arena, 0);
    const auto out = floats(*arena, 1);
    std::iota(in.begin(), in.end(), static_cast<float>(round));
    std::fill(out.begin(), out.end(), -1.0F);
    race->upload();
    const auto block = race->run_block({0, 1});
    INFO(block.replay.evidence);
    REQUIRE(block.replay.outcome == Outcome::returned);
    CHECK(out[0] == -1.0F);  // Nothing comes back before it is asked for.
    race->download(0);
    for (std::size_t i = 0; i < out.size(); ++i) {
      REQUIRE(out[i] == 2 * in[i]);
    }
    race->download(1);
    CHECK(out[0] == 2 * in[0]);
    CHECK(out[out.size() - 1] != 2 * in[out.size() - 1]);
  }
}

TEST_CASE("a write outside of a buffer in device memory is seen at once") {
  const auto executor = CudaExecutor::start(options());
  const OneCall call(count);
  const auto arena = std::make_shared<const DeviceArena>(
      call.arena()->calls()[0], executor->device(), OUROBOROS_GOOD_FAKE_CUDA);
  auto past = builder();
  past.kernel("poke");
  // 4000 bytes of elements end in the middle of 64 bytes; what follows those is guarded.
  past.number(std::int64_t{4032});
  const auto race = executor->open_race({past.plan()}, arena);
  race->upload();
  const auto block = race->run_block({0});
  CHECK(block.replay.outcome == Outcome::fault);
  CHECK_THAT(block.replay.evidence, ContainsSubstring("wrote out of bounds"));
}

TEST_CASE("a GPU that this process cannot see is said so") {
  const OneCall call(count);
  CudaDevice other;
  other.uuid = "GPU-00000000-0000-0000-0000-000000000000";
  CHECK_THROWS_WITH(DeviceArena(call.arena()->calls()[0], other, OUROBOROS_GOOD_FAKE_CUDA),
                    ContainsSubstring("CUDA_VISIBLE_DEVICES"));
  CHECK_THROWS_WITH(DeviceArena(call.arena()->calls()[0], other, "/nowhere/libcuda.so.1"),
                    ContainsSubstring("there is no NVIDIA driver"));
}

TEST_CASE("more than the GPU has is out of memory") {
  const auto executor = CudaExecutor::start(options());
  Call call;
  call.buffers.push_back({"x", BufferRole::input, DType::float64, {std::int64_t{1} << 40}});
  try {
    const DeviceArena arena(call, executor->device(), OUROBOROS_GOOD_FAKE_CUDA);
    FAIL("a TiB of eights fits into nothing");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::out_of_memory);
  }
}
