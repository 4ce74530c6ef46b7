#include "executor/cuda/main/hygiene.hpp"

#include <fmt/format.h>

#include <random>
#include <vector>

#include "executor/cuda/main/flush.hpp"

namespace ouroboros::cuda {
namespace {

constexpr auto patience = std::chrono::seconds{10};
constexpr unsigned sentinel_block = 256;

/// Runs the sentinel on fresh memory. How many of its words are wrong.
std::size_t run_sentinel(Device& device) {
  static std::mt19937 random{std::random_device{}()};
  const std::uint32_t seed = static_cast<std::uint32_t>(random());
  const unsigned grid = device.multiprocessors() * 2;
  std::vector<std::uint32_t> words(std::size_t{grid} * sentinel_block);
  const Range out(device, words.size() * sizeof(std::uint32_t));
  out.fill(out.begin(), out.end(), ~seed);
  device.launch("ouroboros_sentinel", grid, sentinel_block, 0, out.begin(), seed);
  device.wait(Clock::now() + patience);
  device.driver().check(
      device.driver().cuMemcpyDtoH(words.data(), out.begin(), words.size() * sizeof(std::uint32_t)),
      "cuMemcpyDtoH");
  std::size_t wrong = 0;
  for (std::uint32_t i = 0; i < words.size(); ++i) {
    wrong += words[i] != (((i ^ 1U) * 0x9e3779b1U) ^ seed);
  }
  return wrong;
}

}  // namespace

void fill_on_chip(const Device& device, std::uint32_t word) {
  // A block that takes all the shared memory has a multiprocessor to itself, so that two waves
  // reach every one of them.
  const unsigned bytes = device.shared_bytes();
  device.launch("ouroboros_fill_on_chip", device.multiprocessors() * 2, 1024, bytes, bytes, word);
}

std::string clean(Device& device) {
  Flush flush(device);  // Its memory must stay until the kernel has ended.
  fill_on_chip(device, 0);
  flush.enqueue();
  device.wait(Clock::now() + patience);
  if (const auto wrong = run_sentinel(device); wrong != 0) {
    return fmt::format("{} words of the sentinel's result were wrong", wrong);
  }
  return "";
}

}  // namespace ouroboros::cuda
