#pragma once

#include <string>

namespace ouroboros::host {

/// The name of a system call on this architecture, or "system call N" for one that is not listed.
std::string system_call_name(long number);

}  // namespace ouroboros::host
