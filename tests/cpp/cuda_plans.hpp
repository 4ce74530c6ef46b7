#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ouroboros/cuda_executor.hpp"

/// Launch plans of one input and one output for tests of the CUDA executor, and the arena to it.
namespace ouroboros_test {

/// Puts together `kernel(const float* x, float* out, uint32_t n, ...)`.
class PlanBuilder {
 public:
  PlanBuilder(std::int64_t count, const std::vector<std::byte>& image) : count_(count) {
    using namespace ouroboros;
    const auto bytes = static_cast<std::uint64_t>(count) * sizeof(float);
    plan_.origin = PlanOrigin::specification;
    plan_.language = "cuda";
    plan_.target = "sm_90";
    plan_.buffers = {{"x", PlanRole::input, bytes, DType::float32, {count}, {1}, {}},
                     {"out", PlanRole::output, bytes, DType::float32, {count}, {1}, {}}};
    plan_.modules = {{ModuleOrigin::candidate, 0}};
    plan_.images = {{image, sha256_hex(image.data(), image.size())}};
  }

  /// Adds a launch; the returned reference is good until the next one.
  ouroboros::KernelLaunch& kernel(const std::string& function, std::uint32_t grid = 4,
                                  std::uint32_t block = 256) {
    ouroboros::KernelLaunch launch;
    launch.function = function;
    launch.grid = {grid, 1, 1};
    launch.block = {block, 1, 1};
    plan_.launches.push_back(launch);
    pointer(0);
    pointer(1);
    number(static_cast<std::uint32_t>(count_));
    return last();
  }

  /// Appends a parameter to the last kernel, aligned to its size.
  template <typename Type>
  void number(Type value) {
    const auto at = field(sizeof value, sizeof value);
    std::memcpy(last().parameters.data() + at, &value, sizeof value);
  }
  void pointer(std::uint32_t buffer, std::uint64_t offset = 0) {
    last().pointers.push_back({field(8, 8), {buffer, offset}});
  }
  /// `at`: where the cubin has the parameter, which is not where a C compiler would put it.
  ouroboros::ParameterTensorMap& tensor_map(std::uint32_t buffer, std::uint32_t at) {
    last().parameters.resize(at);
    ouroboros::ParameterTensorMap map;
    map.at = field(128, 1);
    map.target.buffer = buffer;
    last().tensor_maps.push_back(map);
    return last().tensor_maps.back();
  }

  std::uint32_t scratch(std::uint64_t bytes) {
    return add({"scratch" + std::to_string(plan_.buffers.size()),
                ouroboros::PlanRole::scratch,
                bytes,
                {},
                {},
                {},
                {}});
  }
  std::uint32_t state(const std::vector<std::byte>& contents) {
    const auto image = static_cast<std::uint32_t>(plan_.images.size());
    plan_.images.push_back({contents, ouroboros::sha256_hex(contents.data(), contents.size())});
    return add({"state" + std::to_string(plan_.buffers.size()),
                ouroboros::PlanRole::state,
                contents.size(),
                {},
                {},
                {},
                image});
  }
  void launch(const ouroboros::Launch& one) { plan_.launches.push_back(one); }

  [[nodiscard]] const ouroboros::LaunchPlan& plan() const { return plan_; }

 private:
  ouroboros::KernelLaunch& last() {
    return std::get<ouroboros::KernelLaunch>(plan_.launches.back());
  }
  std::uint32_t field(std::uint32_t size, std::uint32_t alignment) {
    auto& launch = last();
    const auto end = static_cast<std::uint32_t>(launch.parameters.size());
    const auto at = (end + alignment - 1) / alignment * alignment;
    launch.parameters.resize(at + size);
    launch.fields.push_back({at, size});
    return at;
  }
  std::uint32_t add(ouroboros::PlanBuffer buffer) {
    plan_.buffers.push_back(std::move(buffer));
    return static_cast<std::uint32_t>(plan_.buffers.size() - 1);
  }

  std::int64_t count_;
  ouroboros::LaunchPlan plan_;
};

/// An arena of one call, x to out.
class OneCall {
 public:
  static constexpr std::uint64_t seed = 7;

  explicit OneCall(std::int64_t count, std::size_t sets = 1)
      : count_(static_cast<std::size_t>(count)),
        arena_(std::make_shared<ouroboros::Arena>(std::vector<ouroboros::Call>(
            sets, {"run",
                   {{"x", ouroboros::BufferRole::input, ouroboros::DType::float32, {count}},
                    {"out", ouroboros::BufferRole::output, ouroboros::DType::float32, {count}}},
                   {}}))) {}

  [[nodiscard]] const std::shared_ptr<ouroboros::Arena>& arena() const { return arena_; }

  /// Poisons everything and gives x the values 0.5, 1, 1.5 and so on, times `factor`.
  void prepare(ouroboros::Placement placement, std::size_t set = 0, float factor = 1) const {
    arena_->poison(set, placement, seed);
    std::vector<float> values(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      values[i] = x(i) * factor;
    }
    std::memcpy(arena_->view(set, 0, placement).data(), values.data(), count_ * sizeof(float));
  }

  [[nodiscard]] static float x(std::size_t index) { return static_cast<float>(index + 1) * 0.5F; }

  [[nodiscard]] std::vector<float> output(ouroboros::Placement placement,
                                          std::size_t set = 0) const {
    std::vector<float> values(count_);
    std::memcpy(values.data(), arena_->view(set, 1, placement).data(), count_ * sizeof(float));
    return values;
  }

  /// Whether out is twice x, element by element.
  [[nodiscard]] bool doubled(ouroboros::Placement placement) const {
    const auto values = output(placement);
    for (std::size_t i = 0; i < count_; ++i) {
      if (values[i] != 2 * x(i)) {
        return false;
      }
    }
    return true;
  }

 private:
  std::size_t count_;
  std::shared_ptr<ouroboros::Arena> arena_;
};

}  // namespace ouroboros_test
