#pragma once

#include <cstddef>
#include <cstdint>

#include "ouroboros/plan.hpp"

/// What the referee and a host executor share: descriptor numbers, the control memory, the one
/// system call that is answered, and the reply to loading.
///
/// The executor is hostile from the moment the candidate's first instruction runs. The referee
/// believes nothing that it says; it acts on what the kernel reports about it.
namespace ouroboros::host {

// Descriptors that the executor inherits.
inline constexpr int socket_descriptor = 4;   ///< SOCK_SEQPACKET to the referee.
inline constexpr int arena_descriptor = 5;    ///< The arena's pages.
inline constexpr int control_descriptor = 6;  ///< `Control` and the tables after it.
inline constexpr int image_descriptor = 7;    ///< The candidate's module.

/// Bytes between buffers that no one may touch.
inline constexpr std::size_t guard_bytes = 64 * 1024;

/// No system call has this number. The seccomp filter sees it all the same and hands it to the
/// referee, during which the kernel holds the calling thread stopped: this is the hand-over.
inline constexpr long handover_syscall = 0x4f55;

/// First argument of the hand-over.
enum class Reason : std::uint64_t {
  ready,      ///< Loaded, constructors have run; or: a call has returned.
  signal,     ///< Caught a signal: number, address, stack pointer, counter follow.
  exception,  ///< A C++ exception left the entry point.
  abort,      ///< abort() or std::terminate() was called.
  assertion,  ///< An assertion failed: of <cassert>, or in a header of the standard library.
};

/// Read by the executor before each call. The executor maps it read-only.
struct Control {
  std::uint64_t entry = 0;  ///< Index into the table of entry points.
  std::uint64_t arguments[max_call_arguments] = {};

  // Written once, before the executor starts. The tables follow at the next page.
  std::uint64_t image_bytes = 0;
  std::uint64_t heap_bytes = 0;
  std::uint64_t span_bytes = 0;  ///< Address space to reserve for all buffers and guards.
  std::uint64_t regions = 0;
  std::uint64_t entries = 0;
};

inline constexpr std::size_t page_bytes = 4096;
static_assert(sizeof(Control) <= page_bytes);

/// One buffer's pages.
struct Region {
  std::uint64_t arena_offset = 0;  ///< In the arena's file.
  std::uint64_t span_offset = 0;   ///< From the reservation's start.
  std::uint64_t bytes = 0;         ///< Whole pages.
  std::uint64_t writable = 0;
};

struct EntryName {
  char text[64] = {};
};

/// The executor's only message, sent with the listener's descriptor before any candidate code runs.
struct Loaded {
  std::uint64_t span_address = 0;     ///< Where the buffers are mapped.
  std::uint64_t program_break = 0;    ///< What to answer to `brk`.
  std::uint64_t entries_found = 0;    ///< A bit for each entry point that the module exports.
  char error[256] = {};               ///< Why loading failed; empty when it did not.
  std::uint64_t candidate_fault = 0;  ///< Whether `error` is the module's fault.
};

}  // namespace ouroboros::host
