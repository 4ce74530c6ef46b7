#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "executor/cuda/main/range.hpp"
#include "ouroboros/launch_plan.hpp"

namespace ouroboros::cuda {

/// The driver refused a module, or a module lacks a function: the plan's fault.
struct LoadFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A loaded module, whose variables can be made what they were when it was loaded.
class Module {
 public:
  /// Throws `LoadFailure`.
  Module(Device& device, const PlanImage& image, ModuleOrigin origin);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  [[nodiscard]] ModuleHandle handle() const noexcept { return handle_; }

  /// How often the module was loaded: functions of an earlier time are gone.
  [[nodiscard]] unsigned generation() const noexcept { return generation_; }

  /// Forgets what kernels left in the module's variables. Enqueues copies where it is known where
  /// the variables lie; otherwise waits for the stream and loads the module anew. Not a library's:
  /// it has nothing to gain by remembering, and code that was just loaded is slow at first.
  void restore();

 private:
  struct Section {  ///< Of variables, and where its first contents are kept.
    Address first = 0;
    std::uint64_t bytes = 0;
    Address kept = 0;
  };

  void load();
  [[nodiscard]] std::optional<Address> find(const GlobalSection& section) const;
  bool keep(const ModuleMemory& memory);

  Device& device_;
  std::vector<std::byte> image_;
  ModuleHandle handle_ = nullptr;
  unsigned generation_ = 0;
  bool reload_ = false;
  std::vector<Section> sections_;
  std::unique_ptr<Range> kept_;
};

/// Modules by what is in them, each loaded once.
class Modules {
 public:
  explicit Modules(Device& device) : device_(device) {}

  /// Throws `LoadFailure`.
  Module& load(const PlanImage& image, ModuleOrigin origin);

 private:
  Device& device_;
  std::map<std::pair<std::string, ModuleOrigin>, std::unique_ptr<Module>> loaded_;
};

}  // namespace ouroboros::cuda
