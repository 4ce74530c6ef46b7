#include "judge/base/serial.hpp"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <future>
#include <thread>
#include <vector>

#include "base/start_thread.hpp"

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

void require_threads() {
  static thread_local int known = 1;  // What was started once stays for the next operator.
  const int wanted = at::get_num_threads();
  if (wanted <= known) return;
  std::promise<void> over;
  const std::shared_future<void> end = over.get_future().share();
  std::vector<std::thread> threads;
  const auto join_all = [&] {
    over.set_value();
    for (auto& thread : threads) {
      if (thread.joinable()) thread.join();
    }
  };
  try {
    for (int i = 1; i < wanted; ++i) {
      threads.emplace_back();
      threads.back() = start_thread([end] { end.wait(); });
    }
  } catch (...) {
    join_all();
    throw;
  }
  join_all();
  known = wanted;
}

}  // namespace ouroboros::judge
