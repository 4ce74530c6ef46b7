#pragma once

#include <cstdint>

namespace ouroboros {

/// What a candidate may use. Every limit is enforced from outside the candidate.
struct Limits {
  double compile_seconds = 30.0;           ///< Wall time of the compiler.
  std::int64_t compile_memory_mib = 2048;  ///< Address space of each compiler process.
  std::int64_t compile_processes = 16;     ///< Processes that a compilation may have at once.
  std::int64_t source_kib = 1024;          ///< A longer source is refused unread.
  std::int64_t image_mib = 64;             ///< Size of a compiled module, and of any file.
  std::int64_t log_kib = 64;               ///< Compiler output that is kept.
  double load_seconds = 5.0;               ///< Loading, static constructors included.
  double replay_seconds = 10.0;            ///< One call of the candidate.
  std::int64_t heap_mib = 256;             ///< Heap that a candidate may allocate.
  std::int64_t stack_mib = 8;              ///< Stack of the candidate's only thread.
};

}  // namespace ouroboros
