#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "executor/cuda/main/memory.hpp"
#include "ouroboros/launch_plan.hpp"

namespace ouroboros::cuda {

/// The driver refused a module, or a module lacks a function: the plan's fault.
struct LoadFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Modules by what is in them, each loaded once.
class Modules {
 public:
  explicit Modules(const Device& device) : device_(device) {}
  ~Modules();
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;

  ModuleHandle load(const PlanImage& image);

 private:
  const Device& device_;
  std::map<std::string, ModuleHandle> loaded_;
};

/// A plan whose modules are loaded: launches, and the addresses that they were last bound to.
class Program {
 public:
  /// Throws `LoadFailure`.
  Program(const Device& device, LaunchPlan plan, Modules& modules);

  [[nodiscard]] const LaunchPlan& plan() const noexcept { return plan_; }
  [[nodiscard]] std::size_t launches() const noexcept { return plan_.launches.size(); }

  /// Puts addresses where the plan has places in buffers.
  void bind(const std::vector<Address>& buffers);

  /// Enqueues launch `index`.
  void launch(std::size_t index) const;

  /// "launch 2 (softmax_kernel)".
  [[nodiscard]] std::string name(std::size_t index) const;

 private:
  struct Kernel {
    FunctionHandle function = nullptr;
    std::vector<std::byte> parameters;
  };

  void prepare(const KernelLaunch& launch, Kernel& kernel, Modules& modules) const;
  void patch(const KernelLaunch& launch, Kernel& kernel) const;
  void start(const KernelLaunch& launch, const Kernel& kernel) const;
  [[nodiscard]] Address at(const BufferOffset& place) const;

  const Device& device_;
  LaunchPlan plan_;
  std::vector<Kernel> kernels_;  ///< One for each launch; empty for fills and copies.
  std::vector<Address> buffers_;
};

}  // namespace ouroboros::cuda
