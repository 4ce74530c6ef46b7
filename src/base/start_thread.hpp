#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstddef>
#include <system_error>
#include <thread>
#include <utility>

#include "base/room.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros {

/// Starts a thread. Throws `Error{out_of_memory}` where the machine has room for no more.
template <typename Function>
std::thread start_thread(Function&& function) {
  constexpr std::size_t stack_and_more = std::size_t{16} << 20;
  try {
    if (!has_room(stack_and_more)) {
      throw std::system_error(ENOMEM, std::generic_category());
    }
    return std::thread(std::forward<Function>(function));
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("a thread cannot be started: {}; raise the limits of memory and of "
                            "processes (ulimit -v, ulimit -u)",
                            error.code().message()));
  }
}

}  // namespace ouroboros
