#include "referee/device/race_memory.hpp"

#include <ATen/Context.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "judge/base/tensors.hpp"
#include "ouroboros/error.hpp"
#include "referee/device/gpu.hpp"

namespace ouroboros::referee::device {
namespace {

ArenaTensors tensors_over(const DeviceArena& arena, std::size_t set, at::Device where) {
  ArenaTensors tensors;
  const auto& buffers = arena.call().buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const auto options = at::TensorOptions().dtype(scalar_type(buffers[i].dtype)).device(where);
    auto tensor = at::for_blob(arena.data(i, set), buffers[i].shape)
                      .target_device(where)
                      .options(options)
                      .make_tensor();
    (buffers[i].role == BufferRole::input ? tensors.inputs : tensors.outputs)
        .push_back(std::move(tensor));
  }
  return tensors;
}

/// LibTorch keeps what it has for CUDA in a library of its own, which a C++ program seldom links.
/// It registers itself when it is loaded, which has to be before anybody asks for CUDA.
bool has_cuda() {
  static const bool found = [] {
    Dl_info torch{};
    if (dladdr(reinterpret_cast<const void*>(&at::globalContext), &torch) != 0) {
      const auto folder = std::filesystem::path(torch.dli_fname).parent_path();
      dlopen((folder / "libtorch_cuda.so").c_str(), RTLD_NOW | RTLD_GLOBAL);
    }
    return at::globalContext().hasCUDA();
  }();
  return found;
}

}  // namespace

std::optional<at::Device> shared_device(const Options& options) {
  // A driver for tests has the host's memory, which LibTorch has in any build.
  const bool for_tests = std::getenv("OUROBOROS_LIBCUDA") != nullptr;
  if (!for_tests && !has_cuda()) {
    return std::nullopt;
  }
  try {
    const DeviceArena smallest({}, Gpu::describe(options));
    if (smallest.on_host()) {
      return at::Device(at::kCPU);
    }
    if (!has_cuda()) {
      return std::nullopt;
    }
    return at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(smallest.ordinal()));
  } catch (const Error&) {
    return std::nullopt;
  }
}

RaceMemory::RaceMemory(const Call& call, const Options& options, std::optional<at::Device> shared,
                       std::size_t sets)
    : where_(shared.value_or(at::kCPU)) {
  if (shared) {
    device_ = with_memory_for(sets, [&] {
      return std::make_shared<const DeviceArena>(call, Gpu::describe(options), "", sets);
    });
  } else {
    host_ = std::make_shared<const Arena>(std::vector<Call>(sets, call));
  }
  for (std::size_t set = 0; set < sets; ++set) {
    tensors_.push_back(device_ ? tensors_over(*device_, set, where_)
                               : arena_tensors(*host_, set, Placement::low));
  }
}

std::unique_ptr<CudaRace> RaceMemory::open(CudaExecutor& executor, std::vector<LaunchPlan> plans,
                                           const CudaRaceOptions& race) const {
  return device_ ? executor.open_race(std::move(plans), device_, race)
                 : executor.open_race(std::move(plans), host_, race);
}

void RaceMemory::settle() const {
  if (!where_.is_cpu()) {
    c10::impl::VirtualGuardImpl(where_.type()).getStream(where_).synchronize();
  }
}

}  // namespace ouroboros::referee::device
