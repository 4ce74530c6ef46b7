#include "judge/serial.hpp"

#include <ATen/Parallel.h>
#include <dlfcn.h>

namespace ouroboros::judge {
namespace {

// LibTorch brings an OpenMP runtime of its own; a second one must not be linked beside it. Where it
// was built without OpenMP there is nothing to find, and nothing to do.
template <typename Function>
Function* find(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

struct OpenMp {
  int (*get_max_threads)() = find<int()>("omp_get_max_threads");
  void (*set_num_threads)(int) = find<void(int)>("omp_set_num_threads");
  [[nodiscard]] bool found() const noexcept {
    return get_max_threads != nullptr && set_num_threads != nullptr;
  }
};

const OpenMp& open_mp() noexcept {
  static const OpenMp functions;
  return functions;
}

}  // namespace

Serial::Serial() noexcept {
  // LibTorch sets the number itself when a thread first asks for it: let it, before we do.
  at::get_num_threads();
  if (!open_mp().found()) return;
  before_ = open_mp().get_max_threads();
  open_mp().set_num_threads(1);
}

Serial::~Serial() {
  if (before_ > 0) open_mp().set_num_threads(before_);
}

}  // namespace ouroboros::judge
