#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "ouroboros/error.hpp"
#include "ouroboros/launch_plan.hpp"
#include "plan/launch_plan_structure.hpp"

namespace ouroboros {
namespace {

// CUDA Programming Guide, "Compute Capabilities", technical specifications: the same for every
// architecture since 3.0.
constexpr Dim3 most_grid{2147483647, 65535, 65535};
constexpr Dim3 most_block{1024, 1024, 64};
constexpr std::uint64_t most_threads = 1024;
constexpr std::uint64_t registers_per_block = 65536;
constexpr std::uint64_t threads_per_warp = 32;
constexpr std::uint64_t register_granularity = 256;  // Registers are given out by warp.

// The same guide, "Thread Block Clusters": 8 blocks everywhere, 16 where a kernel opts in.
constexpr int first_with_clusters = 90;
constexpr std::uint64_t most_cluster_blocks = 16;

constexpr std::uint32_t kib = 1024;

// Bits of an element in memory, by CUtensorMapDataType: the last three are packed.
constexpr std::array<std::uint64_t, 16> map_element_bits{8,  16, 32, 32, 64, 64, 16, 32,
                                                         64, 16, 32, 32, 32, 4,  4,  6};

// An architecture by its name, "sm_90a": the number, and whether it is for exactly that one.
struct Target {
  int number = 0;
  bool accelerated = false;

  explicit Target(std::string_view name) : accelerated(name.ends_with('a')) {
    std::from_chars(name.data() + 3, name.data() + name.size(), number);
  }

  // Compute capability 10.3 is sm_103.
  [[nodiscard]] int major() const { return number / 10; }
};

// Code runs on its own architecture and on later ones of its generation; 'a' code on its own alone.
bool runs_on(const Target& code, const Target& device) {
  if (code.accelerated) return code.number == device.number;
  return code.major() == device.major() && code.number <= device.number;
}

// The same table, "Maximum amount of shared memory per thread block": what a kernel may opt in to.
std::uint64_t most_shared_bytes(const Target& device) {
  switch (device.number) {
    case 75:
      return 64 * kib;
    case 80:
    case 87:
      return 163 * kib;
    case 86:
    case 89:
    case 120:
    case 121:
      return 99 * kib;
    default:
      return device.number < 80 ? 96 * kib : 227 * kib;
  }
}

std::uint64_t product(const Dim3& dim) {
  // Saturates: three factors of 32 bits may overflow.
  std::uint64_t result = std::uint64_t{dim[0]} * dim[1];
  return __builtin_mul_overflow(result, std::uint64_t{dim[2]}, &result) ? ~std::uint64_t{0}
                                                                        : result;
}

// How many bytes a tensor map spans from its first; saturates.
std::uint64_t span_of(const ParameterTensorMap& map) {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  const std::uint64_t bits = map_element_bits[map.data_type];
  std::uint64_t span = (map.sizes[0] * bits + 7) / 8;
  for (std::size_t i = 1; i < map.sizes.size(); ++i) {
    std::uint64_t step = 0;
    if (__builtin_mul_overflow(map.sizes[i] - 1, map.strides_bytes[i - 1], &step) ||
        __builtin_add_overflow(span, step, &span)) {
      return most;
    }
  }
  return span;
}

std::string words(const Dim3& dim) { return fmt::format("{} x {} x {}", dim[0], dim[1], dim[2]); }

std::string words(const std::vector<std::int64_t>& sizes) {
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

// Strides as far as they matter: not where there is one element or none to step to.
bool same_strides(const PlanBuffer& one, const PlanBuffer& other) {
  if (std::find(one.shape.begin(), one.shape.end(), 0) != one.shape.end()) return true;
  for (std::size_t i = 0; i < one.shape.size(); ++i) {
    if (one.shape[i] > 1 && one.strides[i] != other.strides[i]) return false;
  }
  return true;
}

// A candidate's own process says who wrote a module, and may lie. Kernels with these in their names
// are nobody's but PyTorch's (CUB's in it), cuBLAS', cuDNN's and CUTLASS' as those ship it.
constexpr std::array<std::string_view, 7> names_of_libraries = {
    "2at6native", "14at_cuda_detail", "8cublasLt", "5cudnn", "nvjet_", "_xmma_gemm", "_xmma_fprop"};

bool has_library_name(std::string_view function) {
  return std::any_of(
      names_of_libraries.begin(), names_of_libraries.end(),
      [function](std::string_view name) { return function.find(name) != std::string_view::npos; });
}

// What the audit knows of an image that modules have: nothing when it is no cubin.
struct CubinFacts {
  std::optional<Target> target;
  std::uint64_t global_bytes = 0;
  std::map<std::string, KernelResources, std::less<>> kernels;
};

class Audit {
 public:
  Audit(const LaunchPlan& plan, const PlanRules& rules)
      : plan_(plan), rules_(rules), device_(plan.target) {}

  std::vector<PlanRefusal> run() {
    check_signature(PlanRole::input, "input");
    check_signature(PlanRole::output, "output");
    check_modules();
    check_scratch();
    check_launches();
    check_uses();
    return std::move(refusals_);
  }

 private:
  template <class... Arguments>
  void refuse(std::string kind, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    refusals_.push_back(
        {std::move(kind), fmt::format(format, std::forward<Arguments>(arguments)...)});
  }

  void check_signature(PlanRole role, const std::string& word) {
    const auto of_role = [role](const std::vector<PlanBuffer>& buffers) {
      std::vector<const PlanBuffer*> found;
      for (const PlanBuffer& buffer : buffers) {
        if (buffer.role == role) found.push_back(&buffer);
      }
      return found;
    };
    const std::vector<const PlanBuffer*> wanted = of_role(rules_.signature);
    const std::vector<const PlanBuffer*> found = of_role(plan_.buffers);
    if (wanted.size() != found.size()) {
      refuse(word + "_count", "The plan has {} {}s, but the problem has {}.", found.size(), word,
             wanted.size());
      return;
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      check_tensor(
          word,
          fmt::format("{} {} ('{}')", word == "input" ? "Input" : "Output", i, found[i]->name),
          *wanted[i], *found[i]);
    }
  }

  void check_tensor(const std::string& word, const std::string& subject, const PlanBuffer& wanted,
                    const PlanBuffer& found) {
    if (wanted.dtype != found.dtype) {
      refuse(word + "_dtype", "{} is {}, but the problem wants {}.", subject,
             to_string(found.dtype), to_string(wanted.dtype));
    }
    if (wanted.shape != found.shape) {
      refuse(word + "_shape", "{} has the shape {}, but the problem wants {}.", subject,
             words(found.shape), words(wanted.shape));
    } else if (!same_strides(wanted, found)) {
      refuse(word + "_strides",
             "{} has the strides {}, but the problem wants {}: make it contiguous.", subject,
             words(found.strides), words(wanted.strides));
    }
  }

  void check_scratch() {
    std::uint64_t bytes = 0;  // Structure bounds the sum.
    for (const PlanBuffer& buffer : plan_.buffers) {
      if (buffer.role == PlanRole::scratch || buffer.role == PlanRole::state) bytes += buffer.bytes;
    }
    std::uint64_t globals = 0;
    for (const auto& [image, facts] : cubins_) add(globals, facts.global_bytes);
    add(bytes, globals);
    if (bytes > rules_.scratch_bytes) {
      refuse("too_much_scratch",
             "Scratch, state and the variables of modules take {} bytes together; the problem "
             "allows {}.",
             bytes, rules_.scratch_bytes);
    }
  }

  // Saturates: a module may say of itself what it likes.
  static void add(std::uint64_t& sum, std::uint64_t bytes) {
    if (__builtin_add_overflow(sum, bytes, &sum)) sum = ~std::uint64_t{0};
  }

  // Reads every image once, however many modules share it.
  void check_modules() {
    for (std::size_t i = 0; i < plan_.modules.size(); ++i) {
      const auto [found, is_new] = cubins_.try_emplace(plan_.modules[i].image);
      if (!is_new) continue;
      const std::vector<std::byte>& bytes = plan_.images[found->first].bytes;
      CubinFacts& facts = found->second;
      try {
        const std::string target = cubin_target(bytes);
        for (KernelResources& kernel : kernel_resources(bytes)) {
          std::string name = kernel.function;
          facts.kernels.emplace(std::move(name), std::move(kernel));
        }
        facts.target.emplace(target);
        const ModuleMemory memory = module_memory(bytes);
        for (const GlobalSection& section : memory.globals) add(facts.global_bytes, section.bytes);
        if (memory.heap) {
          // What it holds outlives a launch, and no one can put it back.
          refuse("device_heap",
                 "Module {} calls malloc or free of the device's heap; take scratch.", i);
        }
        if (!runs_on(*facts.target, device_)) {
          refuse("wrong_architecture", "Module {} is for {}, which does not run on {}.", i, target,
                 plan_.target);
        }
      } catch (const Error& error) {
        refuse("not_a_cubin", "Module {} cannot be read. {}", i, error.what());
      }
    }
  }

  /// Nothing has to be launched where there is nothing to write.
  bool has_output() const {
    return std::any_of(plan_.buffers.begin(), plan_.buffers.end(), [](const auto& one) {
      return one.role == PlanRole::output && one.bytes > 0;
    });
  }

  void check_launches() {
    if (plan_.launches.empty() && has_output()) refuse("no_launch", "The plan launches nothing.");
    if (plan_.launches.size() > rules_.launches) {
      refuse("too_many_launches", "The plan has {} launches; the problem allows {}.",
             plan_.launches.size(), rules_.launches);
    }
    buffer_used_.resize(plan_.buffers.size());
    module_used_.resize(plan_.modules.size());
    for (std::size_t i = 0; i < plan_.launches.size(); ++i) {
      // No more is said of launches that are too many anyway.
      if (i == rules_.launches) return;
      std::visit([&](const auto& launch) { check_launch(i, launch); }, plan_.launches[i]);
    }
  }

  void check_write(std::size_t index, const char* word, const BufferOffset& target) {
    buffer_used_[target.buffer] = true;
    const PlanBuffer& buffer = plan_.buffers[target.buffer];
    if (buffer.role == PlanRole::input) {
      refuse("input_written", "Launch {}, a {}, writes into the input '{}'.", index, word,
             buffer.name);
    }
  }

  void check_launch(std::size_t index, const MemsetLaunch& memset) {
    check_write(index, "memset", memset.target);
  }

  void check_launch(std::size_t index, const CopyLaunch& copy) {
    check_write(index, "copy", copy.target);
    buffer_used_[copy.source.buffer] = true;
  }

  void check_launch(std::size_t index, const KernelLaunch& kernel) {
    for (const ParameterPointer& pointer : kernel.pointers) {
      buffer_used_[pointer.target.buffer] = true;
    }
    const std::string subject = fmt::format("Launch {} ('{}')", index, kernel.function);
    for (const ParameterTensorMap& map : kernel.tensor_maps) {
      buffer_used_[map.target.buffer] = true;
      check_tensor_map(subject, map);
    }
    module_used_[kernel.module] = true;
    const PlanModule& module = plan_.modules[kernel.module];
    if (!rules_.library_kernels &&
        (module.origin == ModuleOrigin::library || has_library_name(kernel.function))) {
      refuse("library_kernel", "{} runs a library's kernel, which the problem forbids.", subject);
    }
    const CubinFacts& facts = cubins_.at(module.image);
    const KernelResources* resources = nullptr;
    if (const auto found = facts.kernels.find(kernel.function); found != facts.kernels.end()) {
      resources = &found->second;
      check_parameters(subject, kernel, *resources);
    } else if (facts.target) {
      refuse("unknown_function", "{} names a kernel that module {} has not got.", subject,
             kernel.module);
    }
    check_shape(subject, kernel, resources);
  }

  void check_tensor_map(const std::string& subject, const ParameterTensorMap& map) {
    const PlanBuffer& buffer = plan_.buffers[map.target.buffer];
    const std::uint64_t span = span_of(map);
    if (span > buffer.bytes - map.target.offset) {
      refuse("tensor_map_outside",
             "{} has a tensor map of {} bytes from byte {} of '{}', which has {} bytes.", subject,
             span, map.target.offset, buffer.name, buffer.bytes);
    }
  }

  void check_parameters(const std::string& subject, const KernelLaunch& kernel,
                        const KernelResources& resources) {
    if (kernel.parameters.size() != resources.parameter_bytes) {
      // Triton's kernels take two pointers more than their source says.
      const bool shorter = kernel.parameters.size() < resources.parameter_bytes;
      refuse("parameter_size", "{} has {} bytes of parameters, but its kernel takes {}{}.", subject,
             kernel.parameters.size(), resources.parameter_bytes,
             shorter ? "; pointers to the compiler's own scratch belong to them" : "");
      return;
    }
    const auto same = [](const ParameterField& one, const ParameterField& other) {
      return one.offset == other.offset && one.size == other.size;
    };
    if (!std::equal(kernel.fields.begin(), kernel.fields.end(), resources.parameters.begin(),
                    resources.parameters.end(), same)) {
      refuse("parameter_size", "{} has {} fields of parameters that are not the {} of its kernel.",
             subject, kernel.fields.size(), resources.parameters.size());
    }
  }

  // What no GPU of the plan's target could launch.
  void check_shape(const std::string& subject, const KernelLaunch& kernel,
                   const KernelResources* resources) {
    const auto exceeds = [](const Dim3& dim, const Dim3& most) {
      return dim[0] > most[0] || dim[1] > most[1] || dim[2] > most[2];
    };
    if (exceeds(kernel.grid, most_grid)) {
      refuse("grid_too_large", "{} has a grid of {}; the most is {}.", subject, words(kernel.grid),
             words(most_grid));
    }
    const std::uint64_t threads = product(kernel.block);
    if (exceeds(kernel.block, most_block) || threads > most_threads) {
      refuse("block_too_large", "{} has a block of {}; the most is {}, and {} threads.", subject,
             words(kernel.block), words(most_block), most_threads);
    } else if (resources != nullptr) {
      check_registers(subject, threads, resources->registers);
    }
    if (kernel.cluster != Dim3{1, 1, 1}) check_cluster(subject, kernel);
    const std::uint64_t most_shared = most_shared_bytes(device_);
    const std::uint64_t own_shared = resources != nullptr ? resources->shared_bytes : 0;
    if (own_shared > most_shared || kernel.shared_bytes > most_shared - own_shared) {
      refuse(
          "shared_too_large",
          "{} needs {} bytes of shared memory and {} of its kernel's own; {} has {} for a block.",
          subject, kernel.shared_bytes, own_shared, plan_.target, most_shared);
    }
  }

  void check_registers(const std::string& subject, std::uint64_t threads, std::uint64_t registers) {
    const auto divide_up = [](std::uint64_t value, std::uint64_t multiple) {
      return (value + multiple - 1) / multiple;
    };
    const std::uint64_t warps = divide_up(threads, threads_per_warp);
    const std::uint64_t taken = warps *
                                divide_up(registers * threads_per_warp, register_granularity) *
                                register_granularity;
    if (taken > registers_per_block) {
      refuse("block_too_large",
             "{} has blocks of {} threads with {} registers each; a block has {} registers.",
             subject, threads, registers, registers_per_block);
    }
  }

  void check_cluster(const std::string& subject, const KernelLaunch& kernel) {
    if (device_.number < first_with_clusters) {
      refuse("cluster_invalid", "{} has clusters, but {} has none.", subject, plan_.target);
      return;
    }
    bool divides = true;
    for (std::size_t i = 0; i < kernel.grid.size(); ++i) {
      divides = divides && kernel.grid[i] % kernel.cluster[i] == 0;
    }
    if (!divides || product(kernel.cluster) > most_cluster_blocks) {
      refuse("cluster_invalid",
             "{} has clusters of {} in a grid of {}; they must divide it, and have at most {} "
             "blocks.",
             subject, words(kernel.cluster), words(kernel.grid), most_cluster_blocks);
    }
  }

  void check_uses() {
    if (plan_.launches.size() > rules_.launches) return;  // Not all of them were looked at.
    if (!has_output()) return;
    for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
      const auto& buffer = plan_.buffers[i];
      if (buffer.role == PlanRole::output && buffer.bytes > 0 && !buffer_used_[i]) {
        refuse("output_unreferenced", "No launch refers to the output '{}'.", buffer.name);
      }
    }
    for (std::size_t i = 0; i < plan_.modules.size(); ++i) {
      if (!module_used_[i]) {
        refuse("module_unreferenced", "No launch runs a kernel of module {}.", i);
      }
    }
  }

  const LaunchPlan& plan_;
  const PlanRules& rules_;
  Target device_;
  std::map<std::uint32_t, CubinFacts> cubins_;  // By image.
  std::vector<bool> buffer_used_;
  std::vector<bool> module_used_;
  std::vector<PlanRefusal> refusals_;
};

}  // namespace

std::vector<PlanRefusal> audit(const LaunchPlan& plan, const PlanRules& rules) {
  for (const PlanBuffer& buffer : rules.signature) {
    if (buffer.strides.size() != buffer.shape.size()) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("The signature's '{}' has {} strides for {} sizes.", buffer.name,
                              buffer.strides.size(), buffer.shape.size()));
    }
  }
  // A plan that was made in this process may never have been parsed.
  launch_plan::require_structure(plan);
  return Audit(plan, rules).run();
}

}  // namespace ouroboros
