#pragma once

#include <functional>

#include "executor/cuda/main/device.hpp"

namespace ouroboros::cuda {

/// Work that is submitted with one call, however many launches it has.
class Graph {
 public:
  /// Records what `enqueue` puts into the device's stream. Nothing of it runs.
  Graph(Device& device, const std::function<void()>& enqueue);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch() const;

 private:
  Device& device_;
  GraphExecutable executable_ = nullptr;
};

}  // namespace ouroboros::cuda
