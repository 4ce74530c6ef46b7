#include "executor/cuda/worker.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "ouroboros/error.hpp"

namespace ouroboros::cuda {
namespace {

/// A context takes 0.2 s alone, and seconds where many are made at once.
constexpr std::chrono::seconds start_patience{60};

struct Silent {};

std::string driver_library(const std::string& libcuda) {
  if (!libcuda.empty()) {
    return libcuda;
  }
  const char* configured = std::getenv("OUROBOROS_LIBCUDA");
  return configured != nullptr ? configured : "";
}

/// What the driver must reach: its libraries, its device files, and what the kernel says of both.
sandbox::Request request(const std::string& argument, const std::string& libcuda, int socket,
                         bool restrict_files) {
  const auto program = sandbox::find_helper("ouroboros-cuda-executor");
  sandbox::Request request;
  request.command = {program.string(), argument};
  // Modules load whole before the first launch, and leave nothing in anybody's home.
  request.environment = {"LC_ALL=C", "CUDA_MODULE_LOADING=EAGER", "CUDA_CACHE_DISABLE=1",
                         "CUDA_DEVICE_ORDER=PCI_BUS_ID"};
  for (const char* name : {"LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES"}) {
    if (const char* value = std::getenv(name); value != nullptr) {
      request.environment.push_back(std::string(name) + "=" + value);
    }
  }
  const auto library = driver_library(libcuda);
  if (!library.empty()) {
    request.environment.push_back("OUROBOROS_LIBCUDA=" + library);
  }
  const char* nvml = std::getenv("OUROBOROS_LIBNVML");
  if (nvml != nullptr) {
    request.environment.push_back(std::string("OUROBOROS_LIBNVML=") + nvml);
  }
  if (restrict_files) {
    request.readable = sandbox::system_folders();
    request.readable.insert(request.readable.end(), {program, "/sys", "/etc", "/opt", library});
    if (nvml != nullptr) {
      request.readable.emplace_back(nvml);
    }
    // The driver names its threads there, and does not start when it cannot.
    request.writable = {"/proc", "/dev/shm"};
    const auto devices = sandbox::nvidia_devices();
    request.writable.insert(request.writable.end(), devices.begin(), devices.end());
  } else {
    request.writable = {"/"};
  }
  request.limits = {{"open_files", 1024}};
  request.descriptors = {{socket, socket_descriptor}};
  return request;
}

/// Of a greeting: why there is no device; empty when there is one.
std::string reason(const nlohmann::json& greeting) {
  return greeting.contains("message") ? greeting.at("message").get<std::string>()
                                      : greeting.value("reason", "");
}

/// Whether the driver itself is missing or did not start, which a sandbox may be the cause of.
bool no_driver(const nlohmann::json& greeting) {
  return !reason(greeting).empty() &&
         greeting.value("error", static_cast<int>(ErrorCode::unsupported)) ==
             static_cast<int>(ErrorCode::unsupported);
}

[[noreturn]] void rethrow(const nlohmann::json& body) {
  throw Error(static_cast<ErrorCode>(body.at("error").get<int>()),
              body.at("message").get<std::string>());
}

}  // namespace

Worker::Worker(const std::string& argument, const std::string& libcuda)
    : argument_(argument), libcuda_(libcuda) {
  start(true);
}

void Worker::start(bool restrict_files) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error(ErrorCode::io, std::string("a socket cannot be made: ") + std::strerror(errno));
  }
  socket_ = sandbox::Descriptor(ends[0]);
  const sandbox::Descriptor theirs(ends[1]);
  process_ = std::make_unique<sandbox::LastingProcess>(
      request(argument_, libcuda_, theirs.get(), restrict_files));
  isolation_ = (*process_)->isolation();
}

const nlohmann::json& Worker::greeting(const std::function<bool()>& cancelled) {
  if (!greeting_.is_null()) {
    return greeting_;
  }
  auto greeting = receive_greeting(cancelled);
  if (no_driver(greeting) && isolation_.landlock_abi > 0) {
    const std::string why = reason(greeting);
    start(false);
    greeting = receive_greeting(cancelled);
    isolation_.missing.push_back("the CUDA driver did not start with the file system restricted: " +
                                 why);
    isolation_.landlock_abi = 0;
  }
  if (greeting.contains("error")) {
    rethrow(greeting);
  }
  if (greeting.value("pageable_access", false)) {
    isolation_.missing.emplace_back(
        "kernels can reach this machine's ordinary memory: only the secrecy of addresses keeps "
        "them out of the executor's");
  }
  isolation_.level = isolation_.missing.empty() ? "sandboxed" : "degraded";
  greeting_ = std::move(greeting);
  return greeting_;
}

nlohmann::json Worker::receive_greeting(const std::function<bool()>& cancelled) {
  try {
    return receive(start_patience, cancelled).body;
  } catch (const Silent&) {
    (*process_)->kill();
    throw Error(ErrorCode::executor_lost,
                fmt::format("the CUDA executor did not start within {} s; see nvidia-smi",
                            start_patience.count()));
  }
}

std::optional<nlohmann::json> Worker::ask(const nlohmann::json& body,
                                          std::chrono::duration<double> patience,
                                          const std::function<bool()>& cancelled,
                                          std::span<const std::byte> bytes, int descriptor) {
  try {
    send_frame(socket_.get(), body, bytes, descriptor);
    auto reply = receive(patience, cancelled).body;
    if (reply.contains("error")) {
      rethrow(reply);
    }
    return reply;
  } catch (const Silent&) {
    (*process_)->kill();
    return std::nullopt;
  }
}

Frame Worker::receive(std::chrono::duration<double> patience,
                      const std::function<bool()>& cancelled) {
  const auto deadline = std::chrono::steady_clock::now() +
                        std::chrono::duration_cast<std::chrono::nanoseconds>(patience);
  const auto wait = [&](int socket) {
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          deadline - std::chrono::steady_clock::now());
      pollfd ready{socket, POLLIN, 0};
      constexpr long between_questions = 50;  // Milliseconds.
      const int polled =
          poll(&ready, 1, static_cast<int>(std::clamp<long>(left.count(), 0, between_questions)));
      if (polled > 0) {
        return;
      }
      if (cancelled && cancelled()) {
        (*process_)->kill();
        throw Error(ErrorCode::cancelled, "cancelled while the CUDA executor ran");
      }
      if (left.count() <= 0) {
        throw Silent{};
      }
    }
  };
  try {
    return receive_frame(socket_.get(), wait);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::executor_lost) {
      throw;
    }
    const auto exit = (*process_)->wait(std::chrono::seconds{5});
    if (exit && exit->known && exit->signal != 0) {
      throw Error(ErrorCode::executor_lost, fmt::format("the CUDA executor died of signal {} ({})",
                                                        exit->signal, strsignal(exit->signal)));
    }
    throw Error(ErrorCode::executor_lost, "the CUDA executor ended unasked");
  }
}

CudaDevice device_from(const nlohmann::json& description) {
  CudaDevice device;
  description.at("name").get_to(device.name);
  description.at("target").get_to(device.target);
  description.at("uuid").get_to(device.uuid);
  description.at("multiprocessors").get_to(device.multiprocessors);
  description.at("memory_bytes").get_to(device.memory_bytes);
  description.at("free_bytes").get_to(device.free_bytes);
  description.at("l2_bytes").get_to(device.l2_bytes);
  description.at("shared_optin_bytes").get_to(device.shared_optin_bytes);
  description.at("driver_version").get_to(device.driver_version);
  description.at("ordinal").get_to(device.ordinal);
  description.at("pageable_access").get_to(device.pageable_access);
  return device;
}

GpuState gpu_state_from(const nlohmann::json& description) {
  GpuState state;
  description.at("sm_clock_mhz").get_to(state.sm_clock_mhz);
  description.at("sm_clock_max_mhz").get_to(state.sm_clock_max_mhz);
  description.at("memory_clock_mhz").get_to(state.memory_clock_mhz);
  description.at("power_w").get_to(state.power_w);
  description.at("power_limit_w").get_to(state.power_limit_w);
  description.at("temperature_c").get_to(state.temperature_c);
  description.at("slowdowns").get_to(state.slowdowns);
  description.at("clocks_locked").get_to(state.clocks_locked);
  description.at("other_processes").get_to(state.other_processes);
  description.at("other_busy_percent").get_to(state.other_busy_percent);
  description.at("shared").get_to(state.shared);
  description.at("power_violation_ns").get_to(state.power_violation_ns);
  description.at("thermal_violation_ns").get_to(state.thermal_violation_ns);
  description.at("reason").get_to(state.reason);
  return state;
}

}  // namespace ouroboros::cuda

namespace ouroboros {

CudaDevices cuda_devices(const std::string& libcuda) {
  CudaDevices result;
  try {
    cuda::Worker worker("--probe", libcuda);
    const auto& greeting = worker.greeting({});
    greeting.at("reason").get_to(result.reason);
    for (const auto& one : greeting.at("devices")) {
      result.devices.push_back(cuda::device_from(one));
    }
  } catch (const Error& error) {
    result.reason = error.what();
    result.answered = error.code() == ErrorCode::unsupported;
  }
  return result;
}

}  // namespace ouroboros
