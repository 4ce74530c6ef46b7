#include "executor/cuda/main/flush.hpp"

#include "executor/cuda/main/kernels.hpp"

namespace ouroboros::cuda {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned blocks_each = 4;  ///< On a multiprocessor.
constexpr auto patience = std::chrono::seconds{30};

std::uint64_t words(std::size_t bytes, unsigned all_threads) {
  const std::uint64_t step = std::uint64_t{all_threads} * read_words_at_once;
  return (bytes / 16 + step - 1) / step * step;
}

}  // namespace

Flush::Flush(Device& device, unsigned l2_sizes)
    : device_(device),
      grid_(device.multiprocessors() * blocks_each),
      count_(words(l2_sizes * device.l2_bytes(), grid_ * threads)),
      buffer_(device, 2 * count_ * 16),
      sink_(device, 4) {
  buffer_.fill(buffer_.begin(), buffer_.end(), 0);
  device.wait(Clock::now() + patience);
  buffer_.allow(Access::read);
}

void Flush::enqueue() {
  const Address first = buffer_.begin() + (second_ ? count_ * 16 : 0);
  second_ = !second_;
  device_.launch("ouroboros_read", grid_, threads, 0, first, count_, sink_.begin());
}

}  // namespace ouroboros::cuda
