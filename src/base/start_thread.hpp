#pragma once

#include <fmt/format.h>

#include <system_error>
#include <thread>
#include <utility>

#include "ouroboros/error.hpp"

namespace ouroboros {

/// Starts a thread. Throws `Error{out_of_memory}` where the machine has room for no more.
template <typename Function>
std::thread start_thread(Function&& function) {
  try {
    return std::thread(std::forward<Function>(function));
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("a thread cannot be started: {}; raise the limits of memory and of "
                            "processes (ulimit -v, ulimit -u)",
                            error.code().message()));
  }
}

}  // namespace ouroboros
