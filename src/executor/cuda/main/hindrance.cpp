#include "executor/cuda/main/hindrance.hpp"

namespace ouroboros::cuda {
namespace {

// Many times what most of a sweep's launches take, which wait for that long. With half of it,
// blocks that do not wait for each other are seldom found out (test_cuda_gpu.cpp: 5 of 80 replays,
// and 51 with this, on an H200).
constexpr std::uint64_t patience_ns = 200'000;

// To begin takes microseconds, unless another program has the device.
constexpr auto arrival = std::chrono::milliseconds{1};

constexpr unsigned threads = 32 * (1 + hindering_warps);

}  // namespace

bool Hindrance::begin() {
  ++ticket_;
  password_ = std::uint64_t{random_()} << 32 | random_();
  const std::uint32_t seed = random_();
  device_.launch_aside("ouroboros_hinder", device_.multiprocessors(), threads, words_.address(),
                       ticket_, seed, patience_ns, print_of(password_));
  const auto deadline = Clock::now() + arrival;
  while (words_->arrived != ticket_) {
    if (Clock::now() > deadline) {
      return false;
    }
  }
  return true;
}

void Hindrance::end() noexcept { words_->password = password_; }

}  // namespace ouroboros::cuda
