#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "sandbox/descriptor.hpp"

/// What the referee and the CUDA executor say to each other: a JSON object, bytes that follow it,
/// and at most one descriptor, over a Unix stream socket.
///
/// The executor runs no code of the candidate's on the host, so unlike the host executor it may be
/// believed; lengths are bounded all the same.
namespace ouroboros::cuda {

/// The socket's number in the executor.
inline constexpr int socket_descriptor = 4;

struct Frame {
  nlohmann::json body;
  std::vector<std::byte> bytes;
  sandbox::Descriptor descriptor;
};

/// Called before each read that could block; returns once there is something to read, or throws.
using Wait = std::function<void(int socket)>;

/// Throws `Error{executor_lost}` when the other side is gone.
void send_frame(int socket, const nlohmann::json& body, std::span<const std::byte> bytes = {},
                int descriptor = -1);

/// Throws `Error{executor_lost}` when the other side is gone or sent nonsense.
Frame receive_frame(int socket, const Wait& wait);

}  // namespace ouroboros::cuda
