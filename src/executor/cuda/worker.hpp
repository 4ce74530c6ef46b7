#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "executor/cuda/frame.hpp"
#include "ouroboros/cuda_executor.hpp"
#include "sandbox/lasting_process.hpp"

namespace ouroboros::cuda {

/// An executor process and the socket to it.
class Worker {
 public:
  /// Starts the program and returns at once. `argument`: a device's number, or "--probe".
  Worker(const std::string& argument, const std::string& libcuda);

  /// The process' first message: a device. Waits for it once. Where the driver does not start in
  /// the sandbox, the process is started again with the file system open, and `isolation` says so.
  const nlohmann::json& greeting(const std::function<bool()>& cancelled);

  /// Asks, and waits for the answer. Empty when it stayed silent for `patience`: the process is
  /// dead then. Throws the error that the process reports.
  std::optional<nlohmann::json> ask(const nlohmann::json& body,
                                    std::chrono::duration<double> patience,
                                    const std::function<bool()>& cancelled,
                                    std::span<const std::byte> bytes = {}, int descriptor = -1);

  [[nodiscard]] const Isolation& isolation() const noexcept { return isolation_; }

 private:
  void start(bool restrict_files);
  nlohmann::json receive_greeting(const std::function<bool()>& cancelled);
  Frame receive(std::chrono::duration<double> patience, const std::function<bool()>& cancelled);

  std::string argument_;
  std::string libcuda_;
  sandbox::Descriptor socket_;
  std::unique_ptr<sandbox::LastingProcess> process_;
  Isolation isolation_;
  nlohmann::json greeting_;
};

/// Reads what `describe_device` wrote.
CudaDevice device_from(const nlohmann::json& description);

/// Reads the answer to the question for a GPU's state.
GpuState gpu_state_from(const nlohmann::json& description);

}  // namespace ouroboros::cuda
