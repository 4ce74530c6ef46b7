#pragma once

#include <string>
#include <vector>

namespace ouroboros::sandbox {

/// Restricts this process and its descendants to reading and executing below `readable` and to
/// everything below `writable`; no TCP, no signals and no abstract sockets outside, as far as the
/// kernel's Landlock goes. Paths that do not exist are skipped. Needs no_new_privs.
/// Returns the ABI in force; 0 and a sentence in `problem` when Landlock cannot be used.
int restrict_files(const std::vector<std::string>& readable,
                   const std::vector<std::string>& writable, std::string& problem);

}  // namespace ouroboros::sandbox
