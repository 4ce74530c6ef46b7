#pragma once

#include <string>
#include <vector>

namespace ouroboros::sandbox {

/// What `enter_namespaces` achieved.
struct Namespaces {
  std::vector<std::string> entered;  ///< "user", "net", "ipc", "uts", and "pid" for children.
  std::vector<std::string> missing;  ///< One sentence for each that could not be entered.
};

/// Moves this process into namespaces of its own: no network, no System V memory of others, and,
/// with `pid`, children that see no other processes and die with the first of them.
Namespaces enter_namespaces(bool pid);

}  // namespace ouroboros::sandbox
