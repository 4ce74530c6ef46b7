#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "catch.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/plan.hpp"

using namespace ouroboros;

namespace {

constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();

Buffer buffer(std::string name, BufferRole role, std::vector<std::int64_t> shape,
              DType dtype = DType::float32) {
  return {std::move(name), role, dtype, std::move(shape)};
}

HostPlan sound_plan() {
  HostPlan plan;
  plan.calls.push_back(
      {"run_float32",
       {buffer("x", BufferRole::input, {4, 8}), buffer("out", BufferRole::output, {4, 8})},
       {4, 8}});
  return plan;
}

// The sentence with which `audit` refuses the plan.
std::string refusal(const HostPlan& plan) {
  try {
    audit(plan);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    return error.what();
  }
  return "accepted";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string sha256_of(const std::string& bytes) { return sha256_hex(bytes.data(), bytes.size()); }

}  // namespace

TEST_CASE("sha256 agrees with the published vectors") {
  CHECK(sha256_hex(nullptr, 0) ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                  "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu") ==
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  CHECK(sha256_of(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256 pads right where the length no longer fits in the last block") {
  // 55 bytes fit with their length in one block, 56 to 64 need another.
  CHECK(sha256_of(std::string(55, 'a')) ==
        "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  CHECK(sha256_of(std::string(56, 'a')) ==
        "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  CHECK(sha256_of(std::string(64, 'a')) ==
        "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

TEST_CASE("elements and bytes of a buffer") {
  CHECK(buffer("x", BufferRole::input, {}).elements() == 1);
  CHECK(buffer("x", BufferRole::input, {3, 5}).elements() == 15);
  CHECK(buffer("x", BufferRole::input, {3, 5}, DType::float16).bytes() == 30);
  CHECK(buffer("x", BufferRole::input, {3, 5}, DType::int64).bytes() == 120);
}

TEST_CASE("a zero size makes a tensor empty, whatever the other sizes are") {
  CHECK(buffer("x", BufferRole::input, {int64_max, 0, int64_max}).elements() == 0);
  CHECK(buffer("x", BufferRole::input, {int64_max, int64_max, 0}).bytes() == 0);
}

TEST_CASE("sizes that overflow saturate and never wrap") {
  CHECK(buffer("x", BufferRole::input, {std::int64_t{1} << 32, std::int64_t{1} << 32}).elements() ==
        int64_max);
  CHECK(buffer("x", BufferRole::input, {std::int64_t{1} << 62}).bytes() ==
        std::numeric_limits<std::size_t>::max());
  CHECK(buffer("x", BufferRole::input, {-4, 8}).elements() == 0);
}

TEST_CASE("audit accepts sound plans") {
  CHECK_NOTHROW(audit(sound_plan()));
  CHECK_NOTHROW(audit(HostPlan{}));
  HostPlan plan = sound_plan();
  plan.calls[0].buffers[0].shape = {0, 8};
  plan.calls[0].sizes = {0, 8};
  CHECK_NOTHROW(audit(plan));
}

TEST_CASE("audit refuses negative sizes by name") {
  HostPlan plan = sound_plan();
  plan.calls.push_back(plan.calls[0]);
  plan.calls[1].buffers[1].shape = {4, -8};
  const std::string message = refusal(plan);
  CHECK(contains(message, "Call 1 ('run_float32')"));
  CHECK(contains(message, "buffer 'out'"));
  CHECK(contains(message, "-8"));

  plan = sound_plan();
  plan.calls[0].sizes[1] = -1;
  CHECK(contains(refusal(plan), "size argument 1 is negative"));
}

TEST_CASE("audit refuses sizes that overflow, in one buffer and in the sum") {
  HostPlan plan = sound_plan();
  plan.calls[0].buffers[0].shape = {int64_max, int64_max};
  CHECK(contains(refusal(plan), "buffer 'x' has a shape whose size in bytes overflows"));

  plan = sound_plan();
  plan.calls[0].buffers[0].shape = {std::int64_t{1} << 62};
  CHECK(contains(refusal(plan), "overflows"));

  plan = sound_plan();
  plan.calls[0].buffers[0].shape = {std::int64_t{1} << 53};
  plan.calls[0].buffers[1].shape = {std::int64_t{1} << 53};
  CHECK_NOTHROW(audit(plan));
  plan.calls.push_back(plan.calls[0]);
  CHECK(contains(refusal(plan), "Call 1"));
}

TEST_CASE("audit counts buffers and sizes together") {
  HostPlan plan = sound_plan();
  plan.calls[0].sizes.assign(max_call_arguments - 2, 1);
  CHECK_NOTHROW(audit(plan));
  plan.calls[0].sizes.push_back(1);
  CHECK(contains(refusal(plan), "129 arguments; at most 128"));
}

TEST_CASE("audit refuses what no executor could call or map") {
  HostPlan plan = sound_plan();
  plan.calls[0].entry = "run float32";
  CHECK(contains(refusal(plan), "no C identifier"));
  plan.calls[0].entry = "";
  CHECK(contains(refusal(plan), "no C identifier"));

  plan = sound_plan();
  std::swap(plan.calls[0].buffers[0], plan.calls[0].buffers[1]);
  CHECK(contains(refusal(plan), "buffer 'x' is an input after an output"));

  plan = sound_plan();
  plan.calls[0].buffers[0].dtype = static_cast<DType>(77);
  CHECK(contains(refusal(plan), "unknown element type"));

  plan = sound_plan();
  plan.calls[0].buffers[0].role = static_cast<BufferRole>(9);
  CHECK(contains(refusal(plan), "unknown role"));
}
