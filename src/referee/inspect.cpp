#include <algorithm>
#include <array>
#include <string_view>

#include "referee/stages.hpp"

namespace ouroboros::referee {
namespace {

// Names that a kernel has no use for. They are notes, not proof: whatever they name, the seal
// stops.
constexpr std::array<std::string_view, 28> suspicious = {
    "fork",   "vfork",    "execve",    "system",        "popen", "pthread_create", "clone",
    "open",   "fopen",    "socket",    "connect",       "write", "printf",         "puts",
    "mmap",   "mprotect", "syscall",   "dlopen",        "dlsym", "ptrace",         "kill",
    "getenv", "signal",   "sigaction", "clock_gettime", "time",  "_exit",          "exit"};

bool contains(const std::vector<std::byte>& image, std::string_view bytes) {
  const auto same = [](std::byte a, char b) { return a == static_cast<std::byte>(b); };
  return std::search(image.begin(), image.end(), bytes.begin(), bytes.end(), same) != image.end();
}

}  // namespace

std::vector<Finding> inspect(const Compiled& compiled) {
  std::vector<Finding> findings;
  if (compiled.plans) {
    return findings;  // Plans are audited where they are made.
  }
  const auto& image = compiled.image.bytes;
  std::string names;
  for (const auto name : suspicious) {
    // Names stand between zero bytes in the symbol table.
    const std::string entry = std::string(1, '\0') + std::string(name) + std::string(1, '\0');
    if (contains(image, entry)) {
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
  }
  if (!names.empty()) {
    findings.push_back({"suspicious_symbol", "note", "compile",
                        "refers to functions that a kernel has no use for: " + names});
  }
  const auto& source = compiled.candidate.source;
  const bool assembly = source.find("asm") != std::string::npos;
  if (assembly && (contains(image, "\x0f\x05") || contains(image, "\xcd\x80"))) {
    findings.push_back({"raw_syscall_instruction", "note", "compile",
                        "has inline assembly, and bytes that encode a system call"});
  }
  return findings;
}

}  // namespace ouroboros::referee
