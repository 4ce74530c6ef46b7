#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "executor/cuda/main/device.hpp"
#include "executor/cuda/main/host_words.hpp"
#include "executor/cuda/main/seal_kernel.hpp"

namespace ouroboros::cuda {

/// Copies of memory that nobody can read, and that are known again. Nothing in a context is hidden
/// from a kernel: it can read what other launches were given behind its own parameters, and so
/// learn where results are kept until somebody checks them. What lies there is enciphered, and the
/// sum of it is read before any other kernel runs. Of the key kernels see as much as the
/// host lends them, in its own memory, while nobody else's can run.
class Seals {
 public:
  /// For so many places at most.
  Seals(Device& device, std::size_t most);

  /// The stream must be idle, and no kernels but ours may be enqueued before `close`.
  void lend_key();
  /// Enqueues an enciphered copy. Here and below the key is lent, and addresses are multiples of
  /// 16.
  void keep(Address from, Address to, std::uint64_t bytes);
  /// Enqueues a comparison with what was kept there.
  void compare(Address with, Address kept);
  /// Enqueues a plain copy of what was kept there, if anything was.
  void reveal(Address kept, Address to);
  /// Takes the key back. The stream must be idle. Whether all that was compared or revealed is what
  /// was kept, by its sum.
  [[nodiscard]] bool close();

  /// Whether all copies are as they were. Waits.
  [[nodiscard]] bool intact();

 private:
  struct Seal {
    Address at = 0;
    std::uint64_t bytes = 0;
    std::uint64_t place = 0;  ///< The first: those of two copies are never the same.
    std::uint64_t sum = 0;
    bool fresh = false;   ///< Since the key was lent, as is the next.
    bool looked = false;  ///< Its sum was made once more.
  };
  enum class Sum : std::uint8_t { made, found };

  void lend(const SealKey& key);
  void add_up(std::size_t number, Sum which, Address from, Address to, bool sealed);
  [[nodiscard]] std::size_t first_word(std::size_t number, Sum which) const;
  [[nodiscard]] std::uint64_t sum(std::size_t number, Sum which) const;
  void look(std::size_t number, Address from, Address to, bool sealed);

  Device& device_;
  SealKey key_;
  HostWords<SealKey> lent_;
  unsigned blocks_;                ///< Of each launch.
  HostWords<std::uint64_t> sums_;  ///< Of each block, by number and which.
  std::uint64_t copies_ = 0;
  std::vector<Seal> seals_;
  std::map<Address, std::size_t> numbers_;  ///< Of the seals, by place.
};

}  // namespace ouroboros::cuda
