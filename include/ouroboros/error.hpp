#pragma once

#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

#include "ouroboros/api.hpp"

namespace ouroboros {

/// Why a call could not be carried out.
///
/// These are faults of the caller or of the machine. What a *candidate* did wrong is never an
/// exception: it is `Verdict::status`.
enum class ErrorCode : std::uint8_t {
  invalid_argument,     ///< The caller passed something that can never work.
  not_found,            ///< A named problem, file or program does not exist.
  io,                   ///< Reading or writing a file or a descriptor failed.
  unsupported,          ///< This build or this machine cannot do what was asked.
  sandbox_unavailable,  ///< A required isolation mechanism is missing.
  compiler_missing,     ///< No compiler for the language was found.
  executor_lost,        ///< An executor died for a reason that is not the candidate's.
  unstable,             ///< The machine does not hold still enough for what was to be measured.
  out_of_memory,        ///< The machine could not provide the memory that was asked for.
  cancelled,            ///< The caller asked to stop.
  internal,             ///< A broken invariant of this library: please report it.
};

/// The name of `code` as it stands in JSON and in messages, e.g. "invalid_argument".
[[nodiscard]] OUROBOROS_API std::string_view to_string(ErrorCode code) noexcept;

/// The exception of this library: a code, a sentence that says what to do, and where it was thrown.
class OUROBOROS_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message,
        std::source_location where = std::source_location::current());

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  [[nodiscard]] const std::source_location& where() const noexcept { return where_; }

 private:
  ErrorCode code_;
  std::source_location where_;
};

}  // namespace ouroboros
