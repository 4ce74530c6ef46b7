#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "executor/cuda/main/device.hpp"
#include "executor/cuda/main/range.hpp"

namespace ouroboros::cuda {

/// Bytes that nobody may write: they hold a pattern.
struct Canary {
  Address from = 0;
  Address to = 0;
  std::uint32_t pattern = 0;
  std::string where;  ///< In words: "past the end of", "before the beginning of" something.
};

/// Looks whether canaries are as they were.
class Canaries {
 public:
  explicit Canaries(Device& device) : device_(device) {}

  /// What was written over the first that was, in words. Waits once, however many there are.
  [[nodiscard]] std::optional<std::string> damage(std::vector<Canary> canaries);

 private:
  Device& device_;
  std::unique_ptr<Range> results_;
};

}  // namespace ouroboros::cuda
